"""The median seconds that XLA's own parser takes for a file: xla_parse.py FILE"""
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
    start = time.perf_counter()
    module = hlo_module_from_text(text)
    times.append(time.perf_counter() - start)
    del module
print(statistics.median(times))
