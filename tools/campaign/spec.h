// What defines a campaign, as its command line gives it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "tools/arguments.h"
#include "tools/campaign/case.h"

namespace minihlo::campaign {

/// Two campaigns with the same values have the same cases and come to the same results.
struct CampaignSpec {
  std::string exhaustive;
  int64_t random = 0;
  std::vector<std::string> pairs;
  std::string devices;
  std::string kinds;
  std::string cycles;
  std::string modes = "partition";
  std::string other = "1";
  std::string types = "f32";
  std::string shapes = "4";
  std::string forms = "plain";
  std::vector<std::string> passes;
  std::string rewrite_with;
  bool gives_back = false;
  std::string expect = "proved";
  int64_t simulate = 1000;
  int64_t tests = 20;
  double case_timeout = 0;
  int64_t case_memory = int64_t{4} << 30;
  uint64_t seed = 1;
  int64_t max_failures = 0;  // 0: any number
  int64_t show_failures = 20;

  void declare(Arguments& arguments);
  /// What words() was made of. Error: what is wrong with them.
  static tl::expected<CampaignSpec, std::string> parse(const std::vector<std::string>& words);
  /// The options that are not as by default, "--random=5".
  std::vector<std::string> words() const;
  /// The campaign of one case alone. `text`: of what rewrites it.
  CampaignSpec only(const CampaignCase& one, const std::string& rewrite) const;

 private:
  /// Calls visit(names, value_name, value, help) for each option.
  template <class Visit>
  void each_option(Visit&& visit);
};

/// The command that runs such a campaign, as typed into a shell.
std::string command_line(const CampaignSpec& spec);

}  // namespace minihlo::campaign
