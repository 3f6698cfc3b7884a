package dev.interlock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Txn;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.cluster.MemberListResponse;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.lease.LeaseGrantResponse;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.lease.LeaseRevokeResponse;
import io.etcd.jetcd.lease.LeaseTimeToLiveResponse;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.LeaseOption;
import io.etcd.jetcd.options.WatchOption;
import java.util.concurrent.CompletableFuture;

/** The requests to etcd that locks need. None of them blocks. */
interface EtcdClient extends AutoCloseable {

  CompletableFuture<GetResponse> get(ByteSequence key, GetOption option);

  Txn txn();

  CompletableFuture<LeaseGrantResponse> grant(long seconds);

  CompletableFuture<LeaseKeepAliveResponse> keepAliveOnce(long lease);

  CompletableFuture<LeaseTimeToLiveResponse> timeToLive(long lease);

  CompletableFuture<LeaseRevokeResponse> revoke(long lease);

  CompletableFuture<MemberListResponse> listMember();

  /**
   * Watches deletions, and notifies the listener when the watch has begun.
   *
   * @return an action that ends the watch
   */
  Runnable watchDeletions(KeyRange range, Watch.Listener listener);

  @Override
  void close();

  /** Sends requests through a jetcd client, which {@link #close} does not close. */
  static EtcdClient of(Client jetcd) {
    return new EtcdClient() {
      @Override
      public CompletableFuture<GetResponse> get(ByteSequence key, GetOption option) {
        return jetcd.getKVClient().get(key, option);
      }

      @Override
      public Txn txn() {
        return jetcd.getKVClient().txn();
      }

      @Override
      public CompletableFuture<LeaseGrantResponse> grant(long seconds) {
        return jetcd.getLeaseClient().grant(seconds);
      }

      @Override
      public CompletableFuture<LeaseKeepAliveResponse> keepAliveOnce(long lease) {
        return jetcd.getLeaseClient().keepAliveOnce(lease);
      }

      @Override
      public CompletableFuture<LeaseTimeToLiveResponse> timeToLive(long lease) {
        return jetcd.getLeaseClient().timeToLive(lease, LeaseOption.DEFAULT);
      }

      @Override
      public CompletableFuture<LeaseRevokeResponse> revoke(long lease) {
        return jetcd.getLeaseClient().revoke(lease);
      }

      @Override
      public CompletableFuture<MemberListResponse> listMember() {
        return jetcd.getClusterClient().listMember();
      }

      @Override
      public Runnable watchDeletions(KeyRange range, Watch.Listener listener) {
        WatchOption.Builder option =
            WatchOption.builder().withNoPut(true).withCreateNotify(true).withRequireLeader(true);
        if (range.end() != null) {
          option.withRange(range.end());
        }
        return jetcd.getWatchClient().watch(range.from(), option.build(), listener)::close;
      }

      @Override
      public void close() {}
    };
  }
}
