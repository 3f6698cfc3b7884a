package shop;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.scheduling.annotation.EnableScheduling;
import redis.clients.jedis.RedisClient;

/** A shop that runs as several instances, which share a stock and take turns at a report. */
@SpringBootApplication
@EnableScheduling
public class ShopApplication {

  public static void main(String[] arguments) {
    SpringApplication.run(ShopApplication.class, arguments);
  }

  @Bean
  RedisClient redis(@Value("${shop.redis}") String uri) {
    return RedisClient.create(uri);
  }
}
