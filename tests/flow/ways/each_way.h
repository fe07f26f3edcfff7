// One way of decoding each, against what the plain one told. Empty if they are the same, otherwise
// which way said what else.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "hodo/flow/decoder.h"
#include "told.h"

namespace hodo::flow::ways {

// Half of the jumps are nothing to the sink. `exactly`: BranchSink::wants_lines().
std::string leaving_out_differs(PieceSource& stream, Decoder& decoder, const Told& expected,
                                bool exactly);

// Where a sink wants to know exactly what was left out, and what ran: of something else that was
// told so.
std::string left_out_exactly(const Told& told, const Told& expected);

// The decoder follows calls,
std::string following_differs(PieceSource& stream, Decoder& decoder, const Told& expected);

// or sums them up by their paths.
std::string summing_differs(PieceSource& stream, Decoder& decoder, const Told& expected);

// A sink judges the branches: by the time, or by the code at both ends.
std::string judging_differs(PieceSource& stream, const image::CodeSource& code, Decoder& decoder,
                            const Told& expected);

// Each thread writes what it decodes.
std::string writing_differs(PieceSource& stream, Decoder& decoder, const Told& expected);

// Checkpoints are told of, in the second stream of the same bytes as in the first.
std::string marking_differs(PieceSource& stream, PieceSource& same, const image::CodeSource& code,
                            Config config);

// The stream is one part (PartDecoder), which several threads decode.
std::string part_differs(std::span<const Piece> pieces, const image::CodeSource& code,
                         Config config, const Told& expected);

// Edges are counted, and the code between them. Another trace comes between, so that edges are
// executed less often, and more often again.
std::string covering_differs(std::span<const Piece> pieces, const image::CodeSource& code,
                             Config config);

// The bytes come in `parts` parts each, and what is there is decoded at once.
std::string growing_differs(std::span<const Piece> pieces, const image::CodeSource& code,
                            const Config& config, std::size_t parts);

}  // namespace hodo::flow::ways
