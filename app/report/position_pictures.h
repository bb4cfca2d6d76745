// SPDX-License-Identifier: MIT
// What a trained model learned of positions, as pictures: its tables, what its attention does with
// distance, and its attention on one sequence.
#pragma once

#include <string>

#include "app/report/run_data.h"
#include "app/saved_model.h"

namespace tapemeasure {

struct PictureOptions {
  std::string text = {};  ///< for the pictures of attention; "": what the run read first
  std::string cache = {};
};

/// Groups of pictures: [{"id", "title", "note", "text", "size", "maps": [picture]}].
/// A text that is not there leaves the tables, and `problem` says so.
Json position_pictures(const SavedModel& saved, const PictureOptions& options,
                       std::string& problem);

/// Adds "pictures" to a run of the document, and "picture_problem" where something is wrong. False
/// when there are no pictures.
bool add_pictures(const PictureOptions& options, Json& run);

}  // namespace tapemeasure
