package dev.interlock.storm.workers;

import com.google.gson.Gson;
import dev.interlock.LockOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * What one client is to do.
 *
 * @param client its name, and the beginning of its leases' identities
 * @param seed makes its choices
 * @param threads how many threads it has
 * @param names what it competes for; the first is held for long
 * @param ttlMillis the TTL of leases that are renewed
 * @param shortTtlMillis the TTL of leases that are left to expire
 * @param requestTimeoutMillis how long a request may take
 * @param boundMillis by how much anything may be late
 * @param blocked whether its log and its listeners block
 * @param storePort where the store that the locks protect listens
 * @param file where it records what it does
 */
public record Assignment(
    String client,
    long seed,
    int threads,
    List<UsedName> names,
    long ttlMillis,
    long shortTtlMillis,
    long requestTimeoutMillis,
    long boundMillis,
    boolean blocked,
    int storePort,
    String file) {

  Duration ttl() {
    return Duration.ofMillis(ttlMillis);
  }

  Duration bound() {
    return Duration.ofMillis(boundMillis);
  }

  Path journal() {
    return Path.of(file);
  }

  /** The client's options: its leases are renewed. */
  public LockOptions options() {
    return LockOptions.builder()
        .ttl(ttl())
        .requestTimeout(Duration.ofMillis(requestTimeoutMillis))
        .build();
  }

  /** The options of leases that the client renews: its own. */
  static void renewed(LockOptions.Builder options) {}

  /** The options of leases that only the program renews. */
  static void fixed(LockOptions.Builder options) {
    options.autoRenew(false);
  }

  /** The options of leases that are left to expire. */
  void passing(LockOptions.Builder options) {
    options.autoRenew(false).ttl(Duration.ofMillis(shortTtlMillis));
  }

  /** The same for a later incarnation of the client. */
  Assignment incarnation(int number) {
    return new Assignment(
        client + "." + number,
        seed + number,
        threads,
        names,
        ttlMillis,
        shortTtlMillis,
        requestTimeoutMillis,
        boundMillis,
        blocked,
        storePort,
        journal().resolveSibling(client + "-" + number + ".journal").toString());
  }

  /** How long it takes at most until a lock of a dead client is acquired again, and used. */
  Duration patience() {
    return ttl().plus(bound()).multipliedBy(2);
  }

  String encode() {
    return new Gson().toJson(this);
  }

  static Assignment decode(String json) {
    return new Gson().fromJson(json, Assignment.class);
  }
}
