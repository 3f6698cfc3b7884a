package dev.interlock.etcd;

import io.etcd.jetcd.Client;

/** Supplies the jetcd client for each request. */
interface Clients extends AutoCloseable {

  /** Lends the client for one request. It is not closed before it is given back. */
  Loan borrow();

  /** Reports that a request failed because of its connection. */
  void failed(Loan loan);

  /** Reports that a request was not answered in time. */
  void silent(Loan loan);

  @Override
  void close();

  /** A client while a request uses it. */
  interface Loan {
    Client client();

    /**
     * Gives it back.
     *
     * @param answered whether the server has answered
     */
    void giveBack(boolean answered);
  }

  /** Supplies the user's own client, which is never closed, and manages its connections. */
  static Clients ofUser(Client client) {
    Loan loan =
        new Loan() {
          @Override
          public Client client() {
            return client;
          }

          @Override
          public void giveBack(boolean answered) {
            // The user's client is never closed here.
          }
        };
    return new Clients() {
      @Override
      public Loan borrow() {
        return loan;
      }

      @Override
      public void failed(Loan same) {
        // The user's client reconnects as it was configured.
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
