#include "tools/campaign/ranks.h"

#include <utility>

#ifdef MINIHLO_MPI

// The C++ interface that the standard has dropped would want a library of its own.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdlib>

namespace minihlo::campaign {
namespace {

// Of what goes in one message, as MPI counts bytes in 31 bits.
constexpr size_t kMaxMessage = size_t{1} << 30;

// A launcher says so; to ask MPI without one costs a second.
bool is_launched() {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"},
      [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace

Ranks::Ranks() {
  if (!is_launched()) return;
  int level = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) return;
  int rank = 0, count = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  rank_ = rank;
  count_ = count;
}

Ranks::~Ranks() {
  int is_started = 0;
  if (MPI_Initialized(&is_started) == MPI_SUCCESS && is_started) MPI_Finalize();
}

std::vector<std::string> Ranks::gather(std::string own) const {
  std::vector<std::string> all;
  if (rank_ > 0) {
    const uint64_t size = own.size();
    MPI_Send(&size, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
    for (size_t at = 0; at < own.size(); at += kMaxMessage) {
      const size_t length = std::min(kMaxMessage, own.size() - at);
      MPI_Send(own.data() + at, static_cast<int>(length), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return all;
  }
  all.push_back(std::move(own));
  for (int rank = 1; rank < count_; ++rank) {
    uint64_t size = 0;
    MPI_Recv(&size, 1, MPI_UINT64_T, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::string& text = all.emplace_back(size, '\0');
    for (size_t at = 0; at < text.size(); at += kMaxMessage) {
      const size_t length = std::min(kMaxMessage, text.size() - at);
      MPI_Recv(text.data() + at, static_cast<int>(length), MPI_BYTE, rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    }
  }
  return all;
}

}  // namespace minihlo::campaign

#else

namespace minihlo::campaign {

Ranks::Ranks() = default;
Ranks::~Ranks() = default;

std::vector<std::string> Ranks::gather(std::string own) const {
  std::vector<std::string> all;
  all.push_back(std::move(own));
  return all;
}

}  // namespace minihlo::campaign

#endif
