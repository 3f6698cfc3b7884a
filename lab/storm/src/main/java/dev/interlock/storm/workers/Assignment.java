package dev.interlock.storm.workers;

import com.google.gson.Gson;
import dev.interlock.LockOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The settings of one client.
 *
 * @param client the client's name, with which the identities of its leases begin
 * @param seed determines its random choices
 * @param threads the number of its threads
 * @param names the names that it competes for; the first is held for long
 * @param ttlMillis the TTL of leases that are renewed
 * @param shortTtlMillis the TTL of leases that are left to expire
 * @param requestTimeoutMillis the request time-out
 * @param boundMillis how late anything may be
 * @param blocked whether its log and listeners block
 * @param storePort the port of the store that the locks protect
 * @param file the path of its journal
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

  /** {@return the options of the lock client, which renews its leases} */
  public LockOptions options() {
    return LockOptions.builder()
        .ttl(ttl())
        .requestTimeout(Duration.ofMillis(requestTimeoutMillis))
        .build();
  }

  /** Changes nothing: the client renews the lease. */
  static void autoRenewed(LockOptions.Builder options) {}

  /** Sets the options of a lease that only the program renews. */
  static void manuallyRenewed(LockOptions.Builder options) {
    options.autoRenew(false);
  }

  /** Sets the options of a lease that is left to expire. */
  void expiring(LockOptions.Builder options) {
    options.autoRenew(false).ttl(Duration.ofMillis(shortTtlMillis));
  }

  /** {@return the settings of a later incarnation of the client} */
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

  /** {@return the longest time until the lock of a dead client is acquired and used again} */
  Duration recoveryLimit() {
    return ttl().plus(bound()).multipliedBy(2);
  }

  String encode() {
    return new Gson().toJson(this);
  }

  static Assignment decode(String json) {
    return new Gson().fromJson(json, Assignment.class);
  }
}
