package dev.interlock.spring.boot;

import dev.interlock.LockConfigurationException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Explains a failed start of the application if a client or a locked method is set up wrongly. */
final class ConfigurationFailureAnalyzer
    extends AbstractFailureAnalyzer<LockConfigurationException> {

  @Override
  protected FailureAnalysis analyze(Throwable root, LockConfigurationException cause) {
    return new FailureAnalysis(cause.getMessage(), action(cause), cause);
  }

  private static String action(LockConfigurationException cause) {
    String message = String.valueOf(cause.getMessage());
    if (cause.getCause() instanceof LinkageError) {
      return "Spring Boot manages the versions of some drivers and may replace those that"
          + " Interlock needs. Redis and Redlock need Jedis 8: set this property in the POM:"
          + " <jedis.version>8.0.2</jedis.version> (with Gradle: ext[\"jedis.version\"] ="
          + " \"8.0.2\").";
    }
    return message.startsWith("@Locked ")
        ? "Correct the annotation or its method."
        : "Correct the property interlock.uri, or the setting that the message names.";
  }
}
