package dev.interlock.zookeeper;

import dev.interlock.spi.Claim;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Since when the servers have refused to delete nodes of ours, say because somebody has changed an
 * access list. By itself such a node stays for as long as its session goes on (REL-02).
 */
final class Refusals {

  private record Refusal(Session session, long since) {}

  private final Map<String, Refusal> refusals = new ConcurrentHashMap<>();

  /**
   * Another refusal, at the given time.
   *
   * @return whether this has been so for the claim's effective term, on this session; if so, it
   *     begins anew
   */
  boolean hasLasted(Claim claim, Session session, long now) {
    Refusal first =
        refusals.compute(
            claim.id(),
            (id, known) ->
                known == null || known.session() != session ? new Refusal(session, now) : known);
    Duration term = claim.term();
    Duration timeout = session.timeout();
    Duration effective = term.compareTo(timeout) < 0 ? timeout : term;
    return now - first.since() >= effective.toNanos() && refusals.remove(claim.id(), first);
  }

  /** There is no node of the claim any more. */
  void end(Claim claim) {
    refusals.remove(claim.id());
  }
}
