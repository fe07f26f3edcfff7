// Mistakes of processors in the packets that they write, by the names in Intel's specification
// updates (the same mistake has other names on other processors).
#pragma once

namespace hodo::pt {

struct Errata {
  // "An Incorrect LBR or Intel PT Packet May Be Recorded Following a Transactional Abort": the
  // target of the branch before the abort is wrong.
  bool bdm64 = false;
  // "Intel PT Packet Stream Boundary+ Packets May Contain Unexpected Packets" (SKD024, SKL021,
  // KBL021): a PSB+ in front of a TIP.PGE has a FUP although tracing is off. perf expects that of
  // all processors.
  bool bdm70 = true;
  // "Intel PT Buffer Overflow May Result in Incorrect Packets" (SKL049, KBL041): an OVF stands in
  // place of all but the first byte of a CYC.
  bool skd007 = false;
  // "Intel PT FUP May be Dropped After OVF" (SKD014, SKL033, KBL030).
  bool skd010 = false;
  // "VM Entry That Clears TraceEn May Generate a FUP" (SKL024, KBL023).
  bool skd022 = false;
  // "Use of VMX TSC Scaling or TSC Offsetting Will Result in Corrupted Intel PT Packets": a TMA
  // with wrong values and one byte too many.
  bool skz84 = false;
  // "Intel PT OVF May Be Followed By An Unexpected FUP Packet": tracing is off all the same.
  bool apl12 = false;

  friend bool operator==(const Errata&, const Errata&) = default;
};

// Those of one of Intel's processors, by DisplayFamily and DisplayModel (SDM, CPUID.1:EAX). Of
// processors that are not known: as without one.
Errata errata_of(unsigned family, unsigned model);

}  // namespace hodo::pt
