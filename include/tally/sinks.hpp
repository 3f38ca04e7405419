// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything that writes results: reports, the rules how metrics get into them, and the sinks.
#pragma once

#include <tally/sink/csv.hpp>
#include <tally/sink/errors.hpp>
#include <tally/sink/histogram_row.hpp>
#include <tally/sink/json_lines.hpp>
#include <tally/sink/main_replica_only.hpp>
#include <tally/sink/prometheus.hpp>
#include <tally/sink/report.hpp>
#include <tally/sink/report_metrics.hpp>
#include <tally/sink/sink.hpp>
#include <tally/sink/tensorboard.hpp>
