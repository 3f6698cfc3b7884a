package dev.interlock.storm;

import dev.interlock.LockOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * What one client is to do.
 *
 * @param client what it is called, and the beginning of its leases' identities
 * @param seed makes its choices
 * @param threads how many threads it has
 * @param names the locks
 * @param ttl the TTL of leases that are kept alive
 * @param shortTtl the TTL of leases that are left to run out
 * @param requestTimeout how long a request may take
 * @param bound by how much anything may be late
 * @param storePort where the store that the locks protect listens
 * @param journal where it records what it does
 */
record Assignment(
    String client,
    long seed,
    int threads,
    List<String> names,
    Duration ttl,
    Duration shortTtl,
    Duration requestTimeout,
    Duration bound,
    int storePort,
    Path journal) {

  /** The client's options: leases that are kept alive by renewal. */
  LockOptions options() {
    return LockOptions.builder().ttl(ttl).requestTimeout(requestTimeout).build();
  }

  /** Lets leases run out unless the program renews them. */
  static void fixed(LockOptions.Builder options) {
    options.autoRenew(false);
  }

  /** Lets leases run out soon. */
  void passing(LockOptions.Builder options) {
    options.autoRenew(false).ttl(shortTtl);
  }

  /** The same for a later incarnation of the client. */
  Assignment incarnation(int number) {
    return new Assignment(
        client + "." + number,
        seed + number,
        threads,
        names,
        ttl,
        shortTtl,
        requestTimeout,
        bound,
        storePort,
        journal.resolveSibling(client + "-" + number + ".journal"));
  }

  /** How long it takes at most until a lock that a dead client had is had again, and used. */
  Duration patience() {
    return ttl.plus(bound).multipliedBy(2);
  }

  String[] encode() {
    return new String[] {
      client,
      Long.toString(seed),
      Integer.toString(threads),
      String.join(",", names),
      ttl.toString(),
      shortTtl.toString(),
      requestTimeout.toString(),
      bound.toString(),
      Integer.toString(storePort),
      journal.toString()
    };
  }

  static Assignment decode(List<String> fields) {
    return new Assignment(
        fields.get(0),
        Long.parseLong(fields.get(1)),
        Integer.parseInt(fields.get(2)),
        List.of(fields.get(3).split(",")),
        Duration.parse(fields.get(4)),
        Duration.parse(fields.get(5)),
        Duration.parse(fields.get(6)),
        Duration.parse(fields.get(7)),
        Integer.parseInt(fields.get(8)),
        Path.of(fields.get(9)));
  }
}
