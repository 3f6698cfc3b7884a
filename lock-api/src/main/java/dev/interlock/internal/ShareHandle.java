package dev.interlock.internal;

import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.spi.Share;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A handle on a share of one name. */
class ShareHandle extends AcquirableHandle<Lease> {

  ShareHandle(Acquirer acquirer, String name, Share share, LockOptions options) {
    super(acquirer, name, share, options);
  }

  public final String name() {
    return name;
  }

  @Override
  final @Nullable Lease acquire(Request request) throws InterruptedException {
    return BlockingAcquisition.acquire(acquirer, request, LeaseHandle::new);
  }

  @Override
  final <R> CompletableFuture<R> acquireAsync(
      Request request, Function<@Nullable Lease, R> result) {
    engine.ensureOpen();
    Object site = engine.callSites.sample(name);
    return AsyncAcquisition.start(
        acquirer,
        request,
        lease -> {
          if (lease == null) {
            return result.apply(null);
          }
          lease.hold().setCallSite(site);
          return result.apply(new LeaseHandle(lease));
        });
  }

  @Override
  final boolean isBusy(@Nullable Thread owner) {
    return acquirer.isBusy(name, share, options, owner);
  }
}
