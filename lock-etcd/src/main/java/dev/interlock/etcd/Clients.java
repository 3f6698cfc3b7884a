package dev.interlock.etcd;

import io.etcd.jetcd.Client;

/** Supplies the client for each request. By default failures have no consequences. */
@FunctionalInterface
interface Clients extends AutoCloseable {

  /** Lends the client for one request, and does not close it before it is given back. */
  Loan borrow();

  @Override
  default void close() {}

  /** A client while a request uses it. */
  @FunctionalInterface
  interface Loan {
    EtcdClient client();

    /**
     * Gives the client back.
     *
     * @param answered whether the server has answered
     */
    default void giveBack(boolean answered) {}

    /** Reports that the request failed because of its connection. */
    default void reportFailure() {}

    /** Reports that the request was not answered in time. */
    default void reportSilence() {}
  }

  /**
   * Supplies the program's own client, which manages its connections and is never closed by the
   * locks.
   */
  static Clients ofProgram(Client client) {
    EtcdClient requests = EtcdClient.of(client);
    Loan loan = () -> requests;
    return () -> loan;
  }
}
