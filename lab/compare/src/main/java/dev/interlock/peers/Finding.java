package dev.interlock.peers;

import dev.interlock.report.Json;
import java.util.List;

/**
 * A kind of misbehaviour by which locks break rules of the contract.
 *
 * @param title the misbehaviour in one line
 * @param peers the {@linkplain PeerHarness#key() keys} of these locks
 * @param rules the rules that they break
 * @param meaning the consequence for a program
 * @param documented the statement of the library's documentation
 * @param links the pages with that statement
 * @param program the method of {@link Reproductions} that shows the misbehaviour
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
