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
 * Mustache templates, kept as resources beside the classes that fill them in. Text is escaped for
 * HTML; a name that the model does not have is an error.
 *
 * <p>Shared by all reports, to be used as {@code {{>table.mustache}}} or {@code
 * {{<page.mustache}}}: {@code page.mustache}, a whole page without anything that a browser would
 * fetch, with the blocks {@code title} and {@code body}; and {@code table.mustache}, which shows a
 * {@link Table}.
 */
public final class Template {
  private Template() {}

  /**
   * {@return what the template makes of the model}
   *
   * @param beside the class beside which the template and its own partials are
   * @param name the resource's file name
   * @param model what the names in the template refer to: a record, or a map
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

  /** The class's own resource; else ours, which all reports share. */
  static Reader open(Class<?> beside, String name) throws IOException {
    InputStream own = beside.getResourceAsStream(name);
    InputStream found = own == null ? Template.class.getResourceAsStream(name) : own;
    if (found == null) {
      throw new FileNotFoundException(name + " is missing from this build");
    }
    return new InputStreamReader(found, StandardCharsets.UTF_8);
  }
}
