package dev.interlock.tck.process;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import org.junit.jupiter.api.Test;
import org.slf4j.spi.SLF4JServiceProvider;

class StderrLoggerTest {

  @Test
  void theProviderCanBeMadeByItsName() throws Exception {
    Object instance =
        Class.forName(StderrLogger.Provider.class.getName()).getConstructor().newInstance();
    SLF4JServiceProvider provider = (SLF4JServiceProvider) instance;
    assertNotNull(provider.getLoggerFactory().getLogger("any"));
  }
}
