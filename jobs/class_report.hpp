#pragma once

#include <string>
#include <vector>

#include "job.hpp"
#include "lockstep/report/confusion.hpp"

namespace lockstep::jobs {

/// Makes `folder` for the two files of report_classes. Throws UsageError when one of them is
/// there already. For rank 0.
void make_report_folder(const std::string& folder);

/// What a scored set comes to class by class: the macro averages go into the log, confusion.csv and
/// per_class.csv into `folder`, unless that is empty. Rank 0 writes, and replaces the files where
/// they are. Collective; failures are agreed.
void report_classes(JobContext& context, const report::ConfusionMatrix& confusion,
                    const std::vector<std::string>& classes, const std::string& folder);

}  // namespace lockstep::jobs
