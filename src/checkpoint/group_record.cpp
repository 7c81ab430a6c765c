// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/group_record.h"

#include "trasmuon/error.h"
#include "trasmuon/option_fields.h"

namespace trasmuon {

GroupRecord record_of(const Options& options) {
  GroupRecord record{rule_name(options), {}};
  std::visit(
      [&](const auto& o) {
        visit_fields(o, [&](const char* name, const auto&, const Range&, const char*) {
          record.fields[name] = get_field(options, name);
        });
      },
      options);
  return record;
}

Options options_from(const GroupRecord& record, const Options& current) {
  if (record.rule != rule_name(current)) {
    throw Error("rule must be " + std::string(rule_name(current)) + ", as in the optimizer, got " + record.rule);
  }
  Options options = current;
  set_fields(options, record.fields);
  return options;
}

}  // namespace trasmuon
