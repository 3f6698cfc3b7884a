package dev.interlock.etcd;

import io.etcd.jetcd.Client;

/** The jetcd client to be used for the next request. */
interface Clients extends AutoCloseable {

  /** Lends the client for one request. It is not closed before it was given back. */
  Loan borrow();

  /** Says that a request failed for want of a connection. */
  void failed(Loan loan);

  /** Says that a request was not answered in time. */
  void silent(Loan loan);

  @Override
  void close();

  /** A client that is in use. */
  interface Loan {
    Client client();

    /**
     * Gives it back.
     *
     * @param answered whether the server has answered
     */
    void giveBack(boolean answered);
  }

  /** The user's client: never closed, and trusted to look after its connections. */
  static Clients ofUser(Client client) {
    Loan loan =
        new Loan() {
          @Override
          public Client client() {
            return client;
          }

          @Override
          public void giveBack(boolean answered) {
            // Nobody counts.
          }
        };
    return new Clients() {
      @Override
      public Loan borrow() {
        return loan;
      }

      @Override
      public void failed(Loan same) {
        // Only its owner can do something about it.
      }

      @Override
      public void silent(Loan same) {
        // As above.
      }

      @Override
      public void close() {
        // The client is the user's.
      }
    };
  }
}
