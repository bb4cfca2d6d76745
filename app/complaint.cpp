// SPDX-License-Identifier: MIT
#include "app/complaint.h"

#include <filesystem>
#include <new>

namespace tapemeasure {

Complaint complaint_of(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return {ours->what(), ours->code()};
  if (dynamic_cast<const std::bad_alloc*>(&error)) {
    return {"no memory left: lower trainer.micro_batch_tokens or the model's sizes",
            ExitCode::kInternal};
  }
  const bool of_files = dynamic_cast<const std::filesystem::filesystem_error*>(&error) != nullptr;
  return {error.what(), of_files ? ExitCode::kCheckpoint : ExitCode::kInternal};
}

}  // namespace tapemeasure
