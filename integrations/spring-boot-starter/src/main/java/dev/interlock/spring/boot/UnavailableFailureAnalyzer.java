package dev.interlock.spring.boot;

import dev.interlock.LockUnavailableException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Explains a failed start of the application if the store does not answer. */
final class UnavailableFailureAnalyzer extends AbstractFailureAnalyzer<LockUnavailableException> {

  @Override
  protected FailureAnalysis analyze(Throwable root, LockUnavailableException cause) {
    return new FailureAnalysis(
        "The lock store does not answer: " + cause.getMessage(),
        "Start the store, or correct the property interlock.uri. If the application may start"
            + " before its store, set interlock.open-timeout to the time that the store may need.",
        cause);
  }
}
