package dev.interlock.custom;

import dev.interlock.custom.CustomFaults.Wrong;
import dev.interlock.tck.specimen.Specimen;
import java.util.ArrayList;
import java.util.List;

/** The rules that refuse each fault, with a part of the message. */
final class CustomSpecimens {

  private static final String REFUSED =
      """
      both | token drawn after the grant | FENCE-01 | from a slow grant to its successor
      plain | token drawn before the grant | FENCE-01 | from quick clients to a slow one
      plain | token read and written apart | FENCE-01 | the token went from
      queue | token read and written apart | FENCE-01 | token
      both | token from the client's clock | FENCE-01 | a client with another clock got a lower token
      both | token from the server's clock in seconds | FENCE-01 | the token went from
      both | tokens fetched in blocks | FENCE-01 | from one client to the next
      both | counter that expires with the lock | FENCE-01 | after a lease that ran out
      both | counter deleted by force | ADMIN-02 | the token does not tell them apart
      both | token changed by a renewal | ADMIN-01 | a renewal changed the token shown
      both | token changed by an attempt in vain | ADMIN-01 | the token shown
      both | another token kept than returned | ADMIN-01 | the token shown
      both | token shown multiplied | ADMIN-01 | the token shown
      both | expiry in whole seconds | LEASE-03 | before the end of the validity of a holder that was cut off
      both | expiry in milliseconds taken for seconds | LEASE-01 | the store did not free the lock after the TTL
      both | grant kept for half | LEASE-03 | before the end of the validity of a holder that was cut off after 0 renewals
      both | renewal by half | LEASE-03 | before the end of the validity of a holder that was cut off
      both | second renewal by half | LEASE-03 | before the end of the validity of a holder that was cut off
      both | renewal that only looks | LEASE-03 | before the end of the validity of a holder that was cut off
      both | renewal for half a minute | LEASE-03 | the store did not free the lock of a holder that was cut off
      both | renewal that adds | LEASE-03 | the store did not free the lock of a holder that was cut off after 12 renewals
      both | renewal once a second | LEASE-03 | before the end of the validity of a holder that was cut off
      both | expiry set by a second request | EXCL-05 | the grant to a client that vanished did not expire
      both | expiry by the client's clock | LEASE-01 | a client with another clock acquired the lock
      both | expiry by the system clock | LEASE-01 | of a process with another system clock
      both | renewal that brings back | LEASE-04 | a lost lease was renewed, with the lock free
      both | renewal of anybody's lock | EXCL-03 | a lease that was taken away was renewed
      both | renewal of the same holder's lock | EXCL-03 | held by a client with the same label
      both | renewal in two steps | EXCL-03 | the successor
      both | one loss loses all | LOSS-01 |
      both | reentrant by label | EXCL-03 | a client with the holder's label acquired the lock
      both | renewal without an answer is a loss | LEASE-07 | a short outage cost the lease
      both | renewal that is refused is a loss | FAULT-05 | was reported as lost
      both | renewal confirmed without an answer | LEASE-03 | without the store the lease did not end
      both | release without comparing | EXCL-03 | the store confirmed a stale release
      both | release of the same holder's lock | EXCL-08 | the successor's lock was freed
      both | release in two steps | EXCL-03 | the successor's lock was freed
      both | release that shortens | REL-01 | an attempt on a free lock returned empty
      both | release always confirmed | REL-01 | the release of a lost lease
      both | release never confirmed | REL-01 | the outcome of releasing a held lease
      both | release confirmed without an answer | REL-02 | the store was out of reach
      both | release repeated and believed | FAULT-04 | the outcome of releasing a held lease
      both | only known grants released | EXCL-05 | was not undone by its client
      both | attempt repeated and found busy | EXCL-05 | was not undone by its client
      both | one identity per client | EXCL-08 | the successor's lock was freed
      both | one identity per thread | EXCL-07 | lost (TAKEN)
      both | time-out declared as not sent | EXCL-05 | was not undone by its client
      both | every failure is one of configuration | API-02 | not a failure
      both | every error is one of configuration | FAULT-05 | LockConfigurationException
      both | failure taken for a busy lock | API-02 | not a failure
      both | error taken for a busy lock | FAULT-05 | a free lock was reported as held
      both | failure taken for a free lock | FAULT-04 | whether inspection showed the lock as held
      plain | scripts loaded once | FAULT-02 | NOSCRIPT
      both | scripts loaded once | FAULT-05 | after the scripts were forgotten
      both | scripts sent again once | FAULT-05 | after the scripts were forgotten
      queue | script for waiters loaded once | FAULT-05 | after the scripts were forgotten
      both | forgetting that asks the store | LOSS-02 | not all losses were reported
      both | connections left open | REL-05 | a closed client keeps some of its
      both | close that frees the holder's locks | EXCL-03 | the successor's lock was freed
      both | remaining time constant | ADMIN-01 | the time left was shown as
      plain | remaining time in seconds | ADMIN-01 | shorter than the lease is valid
      both | remaining time ten times | ADMIN-01 | longer than the store granted the lock
      plain | remaining time by the system clock | ADMIN-01 | more time is left than the TTL
      both | inspection from a cache | ADMIN-01 | the holder shown
      both | first holder shown forever | ADMIN-01 | the holder shown
      queue | waiters not shown | ADMIN-01 | a waiter is not shown in the queue
      queue | last waiter first | ADMIN-01 | the waiters, in the order of the queue
      both | inspection that renews | ADMIN-01 | the store did not free the lock after the TTL
      both | force always true | ADMIN-02 | a free lock was reported as held
      both | force always false | ADMIN-02 | a held lock was reported as free
      both | force by prefix | ADMIN-02 | the forced release of
      both | force that leaves a mark | ADMIN-02 | not free after the forced release
      queue | force that empties the queue | FAIR-01 | waiters served before an attempt that did not wait
      both | long labels cut | API-03 | the holder shown
      both | label and claim in one field | API-03 | with the label
      both | names trimmed | EXCL-02 | is taken for another name
      both | names in lower case | EXCL-02 | is taken for another name
      both | names in ASCII | EXCL-02 | is taken for another name
      both | names in the default charset | EXCL-02 | of another version or locale acquired a held lock
      both | names normalised | EXCL-02 | is taken for another name
      both | names hashed | EXCL-02 | is taken for another name
      both | long names cut | EXCL-02 | is taken for another name
      both | long names hashed | EXCL-02 | is taken for another name
      both | names as paths | EXCL-02 | is taken for another name
      both | names as patterns of a cluster | EXCL-02 | is taken for another name
      queue | queue under a lock's name | EXCL-02 |
      both | entry for every attempt | REL-03 | entries on the store
      both | entry for every inspection | REL-03 | entries on the store
      both | entry for every name | REL-04 | names that were used and released left something
      both | entry for every release | REL-03 | entries on the store
      both | attempt that gets in line | WAIT-01 | No value present
      both | every claim remembered | REL-06 | have left objects in the client
      both | every renewed claim remembered | REL-06 | have left objects in the client
      queue | last come, first served | FAIR-01 | not served in the order of arrival
      queue | line by the clients' clocks | FAIR-01 | not served in the order of arrival
      queue | dead waiters never leave | FAIR-02 | the store keeps the queue entry of a waiter that is cut off
      queue | dead waiters stay for five TTLs | FAIR-02 | a dead waiter kept the others waiting
      queue | any question keeps the whole line | FAIR-02 | a dead waiter kept the others waiting
      queue | place lost by asking | FAIR-01 | was not served
      queue | any waiter served | FAIR-01 | not served in the order of arrival
      queue | first in line served at once | EXCL-01 | two leases were valid at once
      queue | leaver takes the first along | FAIR-02 |
      queue | line that never expires | REL-03 | a waiter that was killed left something
      queue | attempt past the line | FAIR-01 | waiters served before an attempt that did not wait
      queue | lost place not noticed | FAIR-02 | a waiter that was stopped was not served
      queue | waiter asks too seldom | WAIT-03 |
      queue | place expires between questions | FAIR-01 |
      queue | waiter asks without a pause | WAIT-10 | waiting clients sent
      """;

  private CustomSpecimens() {}

  /** {@return the specimens of one kind of backend, {@code plain} or {@code queue}} */
  static List<Specimen> of(String kind) {
    List<Specimen> specimens = new ArrayList<>();
    for (Wrong wrong : CustomFaults.all()) {
      Specimen.Builder specimen =
          Specimen.mutant(wrong.name())
              .fault(wrong.sentence())
              .harness(() -> new CustomHarness("/" + kind + "/" + CustomFaults.path(wrong.name())));
      boolean refused = false;
      for (String line : REFUSED.lines().toList()) {
        String[] parts = line.split(" [|] ?", 4);
        if (parts[1].equals(wrong.name()) && List.of("both", kind).contains(parts[0])) {
          specimen.refusedBy(parts[2], parts[3]);
          refused = true;
        }
      }
      if (refused) {
        specimens.add(specimen.build());
      }
    }
    return specimens;
  }
}
