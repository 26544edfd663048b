"""The median seconds of processor time that XLA's own parser takes for a file: xla_parse.py FILE"""
import statistics
import sys
import time

try:
    from jaxlib._hlo import hlo_module_from_text
except ImportError:  # before jaxlib 0.9
    from jaxlib.xla_client._xla import hlo_module_from_text

text = open(sys.argv[1]).read()
times = []
for _ in range(3):
    start = time.thread_time()
    module = hlo_module_from_text(text)
    times.append(time.thread_time() - start)
    del module
print(statistics.median(times))
