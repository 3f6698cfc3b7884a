package sample;

import dev.interlock.Lease;
import dev.interlock.LockClient;

/** Acquires a lock and prints its token. */
public final class Order {
  private Order() {}

  public static void main(String[] arguments) throws InterruptedException {
    try (LockClient client = LockClient.open(arguments[0]);
        Lease lease = client.lock("orders/42").acquire()) {
      System.out.println("token " + lease.fencingToken());
    }
  }
}
