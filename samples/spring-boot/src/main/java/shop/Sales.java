package shop;

import dev.interlock.Lease;
import dev.interlock.spring.CurrentLease;
import dev.interlock.spring.Locked;
import org.springframework.stereotype.Service;

/** Sells what is in stock: reads the amount, and writes it back, under a lock for each item. */
@Service
class Sales {

  private final Stock stock;

  Sales(Stock stock) {
    this.stock = stock;
  }

  @Locked(value = "stock-#{#item}", waitFor = "30s")
  boolean sell(String item) {
    Lease lease = CurrentLease.get();
    long amount = stock.claimAndRead(item, lease);
    if (amount == 0) {
      return false;
    }
    stock.write(item, amount - 1, lease);
    return true;
  }
}
