package dev.interlock.peers;

import dev.interlock.report.Json;
import java.util.List;

/**
 * A way in which locks break rules of the contract.
 *
 * @param title what happens, in one line
 * @param peers the {@linkplain PeerHarness#key() keys} of the locks
 * @param rules the rules that are broken
 * @param meaning what it means for a program
 * @param documented what the library's documentation says about it
 * @param links where it says so
 * @param program the name of the method of {@link Reproductions} that shows it
 */
record Finding(
    String title,
    List<String> peers,
    List<String> rules,
    String meaning,
    String documented,
    List<String> links,
    String program) {

  /** All findings, in the order of the page. */
  static final List<Finding> ALL = Json.read(Finding.class, "findings.json");

  boolean isAbout(PeerHarness peer, String rule) {
    return peers.contains(peer.key()) && rules.contains(rule);
  }
}
