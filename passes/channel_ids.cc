// channel-ids: gives every collective a channel id of its own.
//
//   %a = f32[4] all-reduce(%x), channel_id=1, ...        %a = ... channel_id=1
//   %b = f32[4] all-reduce(%a), channel_id=1, ...   ->   %b = ... channel_id=2
//
// Who has none keeps none, as that is another group mode. The first with an id keeps it, the next
// ones get numbers above the largest in use. What has to share an id goes on sharing it: a send or
// recv with its done and its counterpart, and collectives of one id in different branches of a
// conditional, where devices that parted meet by it.
#include <unordered_set>

#include "passes/channels.h"
#include "passes/pass.h"
#include "passes/report.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "channel-ids";

class ChannelIds : public Pass {
 public:
  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    int64_t next = module.next_channel_id();
    std::unordered_set<int64_t> taken;
    for (const std::vector<Instruction*>& group : channel_groups(module)) {
      if (taken.insert(group[0]->get(attr::channel_id)).second) continue;
      for (Instruction* one : group) {
        Reporter(context, kName).rewritten(*one, *one);
        one->set(attr::channel_id, next);
      }
      ++next;
    }
    return {};
  }
};

}  // namespace

const PassInfo kChannelIds = {
    .name = kName,
    .summary = "give every collective a channel id of its own",
    .options = {},
    .make = [](const PassOptions&) -> std::unique_ptr<Pass> {
      return std::make_unique<ChannelIds>();
    },
};

}  // namespace minihlo
