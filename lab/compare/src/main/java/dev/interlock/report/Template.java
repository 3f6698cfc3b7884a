package dev.interlock.report;

import com.samskivert.mustache.Mustache;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * Renders Mustache templates. A template is a resource in the package of the class that renders it.
 * Text is escaped for HTML; a name that the model lacks is an error.
 *
 * <p>All reports share two templates. {@code {{<page.mustache}}} is a self-contained page with the
 * blocks {@code title} and {@code body}; {@code {{>table.mustache}}} shows a {@link Table}.
 */
public final class Template {
  private Template() {}

  /**
   * {@return the template, filled in with the model}
   *
   * @param beside a class in the package of the template and its partials
   * @param name the file name of the template
   * @param model a record or map with the values for the names in the template
   */
  public static String render(Class<?> beside, String name, Object model) {
    try (Reader template = open(beside, name)) {
      return Mustache.compiler()
          .strictSections(true)
          .withLoader(partial -> open(beside, partial))
          .compile(template)
          .execute(model);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Opens a resource in the package of the class, or else one of those that all reports share. */
  static Reader open(Class<?> beside, String name) throws IOException {
    InputStream own = beside.getResourceAsStream(name);
    InputStream found = own == null ? Template.class.getResourceAsStream(name) : own;
    if (found == null) {
      throw new FileNotFoundException(name + " is missing from this build");
    }
    return new InputStreamReader(found, StandardCharsets.UTF_8);
  }
}
