// The processor's side of the report: what there is, in detail.
#pragma once

#include "hodo/doctor/report.h"
#include "hodo/hw/support.h"

namespace hodo::doctor {

// An item with the verdict, the reason and the remedy that the processor alone gives.
Item processor_item(std::string name, std::string key, const hw::BranchFeatures& f,
                    const hw::Support& support);

// What records in place of the processor's own means `key`: "" if nothing does.
std::string stand_in(const std::string& key);
// What helps where a hypervisor gives no PMU of Intel's on.
std::string virtual_pmu_remedy(const std::string& key);

using Details = std::vector<std::pair<std::string, std::string>>;
Details pt_details(const hw::BranchFeatures& f);
Details bts_details(const hw::BranchFeatures& f);
Details lbr_details(const hw::BranchFeatures& f);
Details pebs_details(const hw::BranchFeatures& f);

std::string processor_line(const hw::BranchFeatures& f);
std::string hypervisor_line(const hw::BranchFeatures& f);

}  // namespace hodo::doctor
