package shop;

import dev.interlock.LockTimeoutException;
import dev.interlock.LockUnavailableException;
import dev.interlock.StaleTokenException;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
class StockController {

  private final Sales sales;
  private final Stock stock;

  StockController(Sales sales, Stock stock) {
    this.sales = sales;
    this.stock = stock;
  }

  @PutMapping("/stock/{item}")
  void fill(@PathVariable String item, @RequestParam long amount) {
    stock.fill(item, amount);
  }

  @GetMapping("/stock/{item}")
  long read(@PathVariable String item) {
    return stock.read(item);
  }

  @PostMapping("/stock/{item}/sell")
  ResponseEntity<String> sell(@PathVariable String item) {
    return sales.sell(item)
        ? ResponseEntity.ok("sold\n")
        : ResponseEntity.status(HttpStatus.CONFLICT).body("sold out\n");
  }

  /** The lock was busy for too long, its store is unavailable, or another has sold meanwhile. */
  @ExceptionHandler({
    LockTimeoutException.class,
    LockUnavailableException.class,
    StaleTokenException.class
  })
  @ResponseStatus(HttpStatus.SERVICE_UNAVAILABLE)
  void tryAgainLater() {}
}
