package dev.interlock.internal;

import java.util.concurrent.ThreadLocalRandom;

/**
 * A check for room on the stack before an acquisition, or before the end of a lease. An acquisition
 * that ran out of stack between the store's grant and its return would hold the lock for no caller,
 * and undoing it would run out of stack as well. A release would leave the lock half released, and
 * the client's timer inconsistent. So the check provokes the error before anything has begun.
 */
final class StackRoom {

  /** Together 32 KB: more than the code that follows needs, even while it is interpreted. */
  private static final int FRAMES = 16;

  private StackRoom() {}

  /**
   * Fails now if little room is left, instead of in the middle of what follows.
   *
   * @throws StackOverflowError if little room is left
   */
  static void require() {
    if (descend(FRAMES, 1) == 0) {
      throw new IllegalStateException("the sum of positive numbers is positive");
    }
  }

  /**
   * Takes 2 KB of stack for each frame. In compiled code, the arguments of a rarely made call take
   * them; in interpreted code, unused variables do. This costs almost nothing, because compiled
   * code writes nothing there.
   */
  // spotless:off
  @SuppressWarnings("UnusedVariable")
  private static long descend(int frames, long a) {
    long
        v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18, v19,
        v20, v21, v22, v23, v24, v25, v26, v27, v28, v29, v30, v31, v32, v33, v34, v35, v36, v37,
        v38, v39, v40, v41, v42, v43, v44, v45, v46, v47, v48, v49, v50, v51, v52, v53, v54, v55,
        v56, v57, v58, v59, v60, v61, v62, v63, v64, v65, v66, v67, v68, v69, v70, v71, v72, v73,
        v74, v75, v76, v77, v78, v79, v80, v81, v82, v83, v84, v85, v86, v87, v88, v89, v90, v91,
        v92, v93, v94, v95, v96, v97, v98, v99, v100, v101, v102, v103, v104, v105, v106, v107,
        v108, v109, v110, v111;
    if (frames > 0) {
      return descend(frames - 1, a) + 1;
    }
    // Called now and then, because a compiler drops code that never runs.
    return ThreadLocalRandom.current().nextInt(16) > 0 ? a : sum(
        a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,
        a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,
        a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,
        a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a);
  }

  // Too long for a compiler to inline.
  private static long sum(
      long p0, long p1, long p2, long p3, long p4, long p5, long p6, long p7, long p8, long p9,
      long p10, long p11, long p12, long p13, long p14, long p15, long p16, long p17, long p18,
      long p19, long p20, long p21, long p22, long p23, long p24, long p25, long p26, long p27,
      long p28, long p29, long p30, long p31, long p32, long p33, long p34, long p35, long p36,
      long p37, long p38, long p39, long p40, long p41, long p42, long p43, long p44, long p45,
      long p46, long p47, long p48, long p49, long p50, long p51, long p52, long p53, long p54,
      long p55, long p56, long p57, long p58, long p59, long p60, long p61, long p62, long p63,
      long p64, long p65, long p66, long p67, long p68, long p69, long p70, long p71, long p72,
      long p73, long p74, long p75, long p76, long p77, long p78, long p79, long p80, long p81,
      long p82, long p83, long p84, long p85, long p86, long p87, long p88, long p89, long p90,
      long p91, long p92, long p93, long p94, long p95, long p96, long p97, long p98, long p99,
      long p100, long p101, long p102, long p103, long p104, long p105, long p106, long p107,
      long p108, long p109, long p110, long p111) {
    return
        p0 + p1 + p2 + p3 + p4 + p5 + p6 + p7 + p8 + p9 + p10 + p11 + p12 + p13 + p14 + p15 + p16 +
        p17 + p18 + p19 + p20 + p21 + p22 + p23 + p24 + p25 + p26 + p27 + p28 + p29 + p30 + p31 +
        p32 + p33 + p34 + p35 + p36 + p37 + p38 + p39 + p40 + p41 + p42 + p43 + p44 + p45 + p46 +
        p47 + p48 + p49 + p50 + p51 + p52 + p53 + p54 + p55 + p56 + p57 + p58 + p59 + p60 + p61 +
        p62 + p63 + p64 + p65 + p66 + p67 + p68 + p69 + p70 + p71 + p72 + p73 + p74 + p75 + p76 +
        p77 + p78 + p79 + p80 + p81 + p82 + p83 + p84 + p85 + p86 + p87 + p88 + p89 + p90 + p91 +
        p92 + p93 + p94 + p95 + p96 + p97 + p98 + p99 + p100 + p101 + p102 + p103 + p104 + p105 +
        p106 + p107 + p108 + p109 + p110 + p111;
  }
  // spotless:on
}
