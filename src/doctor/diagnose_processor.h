// The processor's side of the report: what there is, in detail.
#pragma once

#include "hodo/doctor/report.h"
#include "hodo/hw/support.h"

namespace hodo::doctor {

// An item with the verdict, the reason and the remedy that the processor alone gives.
Item processor_item(std::string name, std::string key, const hw::Support& support);

using Details = std::vector<std::pair<std::string, std::string>>;
Details pt_details(const hw::BranchFeatures& f);
Details bts_details(const hw::BranchFeatures& f);
Details lbr_details(const hw::BranchFeatures& f);
Details pebs_details(const hw::BranchFeatures& f);

std::string processor_line(const hw::BranchFeatures& f);
std::string hypervisor_line(const hw::BranchFeatures& f);

}  // namespace hodo::doctor
