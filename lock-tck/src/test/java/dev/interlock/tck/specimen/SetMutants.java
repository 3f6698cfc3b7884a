package dev.interlock.tck.specimen;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.MultiLease;
import dev.interlock.MultiLock;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

/** Sets of names that are naively made of single locks. */
final class SetMutants {
  private SetMutants() {}

  static List<Specimen> all() {
    return MemorySpecimens.of(
        Specimen.mutant("set made of single locks")
            .fault(
                "Names are acquired one after the other, in the order of UTF-16; nothing renews the"
                    + " first ones during the wait, a loss of one is not a loss of the others, and"
                    + " there is one token for all.")
            .harness(
                () ->
                    MemoryMutant.ofClient(
                        client ->
                            new ForwardingClient(client) {
                              @Override
                              public MultiLock multiLock(Collection<String> names) {
                                return new OneByOne(client, super.multiLock(names));
                              }
                            }))
            .refusedBy("MULTI-01", "expected")
            .refusedBy("MULTI-02", "was freed while the set waited for the second")
            .refusedBy("MULTI-03", "IllegalArgumentException"));
  }

  private static final class OneByOne implements MultiLock {
    private final LockClient client;
    private final MultiLock right;
    private final List<String> names;

    OneByOne(LockClient client, MultiLock right) {
      this.client = client;
      this.right = right;
      this.names = List.copyOf(new TreeSet<>(right.names()));
    }

    @Override
    public List<String> names() {
      return names;
    }

    @Override
    public MultiLease acquire() throws InterruptedException {
      List<Lease> leases = new ArrayList<>();
      for (String name : names) {
        leases.add(client.lock(name).acquire());
      }
      return new Bundle(leases);
    }

    @Override
    public Optional<MultiLease> tryAcquire() {
      return right.tryAcquire();
    }

    @Override
    public Optional<MultiLease> tryAcquire(Duration timeout) throws InterruptedException {
      return right.tryAcquire(timeout);
    }

    @Override
    public CompletableFuture<MultiLease> acquireAsync() {
      return right.acquireAsync();
    }

    @Override
    public CompletableFuture<Optional<MultiLease>> tryAcquireAsync() {
      return right.tryAcquireAsync();
    }

    @Override
    public CompletableFuture<Optional<MultiLease>> tryAcquireAsync(Duration timeout) {
      return right.tryAcquireAsync(timeout);
    }
  }

  /** Several leases, of which the first one answers for all. */
  private static final class Bundle extends ForwardingLease implements MultiLease {
    private final List<Lease> leases;

    Bundle(List<Lease> leases) {
      super(leases.get(0));
      this.leases = leases;
    }

    @Override
    public List<String> names() {
      return leases.stream().map(Lease::name).toList();
    }

    @Override
    public String name() {
      return String.join(", ", names());
    }

    @Override
    public long fencingToken(String name) {
      return fencingToken();
    }

    @Override
    public boolean isHeld() {
      return leases.stream().anyMatch(Lease::isHeld);
    }

    @Override
    public void renew() throws InterruptedException {
      for (Lease lease : leases) {
        lease.renew();
      }
    }

    @Override
    public ReleaseOutcome release() {
      leases.forEach(Lease::release);
      return ReleaseOutcome.RELEASED;
    }

    @Override
    public void close() {
      release();
    }
  }
}
