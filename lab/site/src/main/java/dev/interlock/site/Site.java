package dev.interlock.site;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import com.google.gson.Gson;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.HeadingAnchorExtension;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.Heading;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.NodeRenderer;
import org.commonmark.renderer.html.HtmlNodeRendererContext;
import org.commonmark.renderer.html.HtmlRenderer;
import org.commonmark.renderer.text.TextContentRenderer;

/**
 * Writes the project's pages as a site that a browser opens from the disk: every Markdown page with
 * a menu, its diagrams drawn, and a search over all of them. It needs no server and no network.
 *
 * <p>The menu is {@code docs/README.md}. A file that a page links to, such as a sample, becomes a
 * page of its own.
 */
public final class Site {
  private static final String MENU = "docs/README.md";
  private static final List<String> LIBRARIES =
      List.of("mermaid/11.6.0/dist/mermaid.min.js", "lunr/2.3.9/lunr.min.js");

  private static final List<Extension> EXTENSIONS =
      List.of(TablesExtension.create(), HeadingAnchorExtension.create());
  private static final Parser PARSER = Parser.builder().extensions(EXTENSIONS).build();
  private static final HtmlRenderer HTML =
      HtmlRenderer.builder().extensions(EXTENSIONS).nodeRendererFactory(Diagrams::new).build();
  private static final TextContentRenderer TEXT =
      TextContentRenderer.builder().extensions(EXTENSIONS).build();

  /** A part of a page, as the search finds it. */
  private record Section(String page, String title, String address, String text) {}

  private final Path top;
  private final Path target;
  private final String template;
  private final List<Section> sections = new ArrayList<>();
  private final TreeSet<String> linkedFiles = new TreeSet<>();

  private Site(Path top, Path target) throws IOException {
    this.top = top.toAbsolutePath().normalize();
    this.target = target;
    template = resource("page.html");
  }

  /**
   * Writes the site.
   *
   * @param arguments the project's top folder, and the folder for the site
   * @throws IOException if a page cannot be read or written
   */
  public static void main(String[] arguments) throws IOException {
    new Site(Path.of(arguments[0]), Path.of(arguments[1])).write();
  }

  private void write() throws IOException {
    for (String page : pages()) {
      Node document = PARSER.parse(Files.readString(top.resolve(page)));
      indexSections(page, document);
      redirectLinks(page, document);
      writePage(page, title(document), HTML.render(document));
    }
    for (String file : linkedFiles) {
      writeFile(file);
    }
    writeText("search-index.js", "const SECTIONS = " + new Gson().toJson(sections) + ";\n");
    writeText("site.css", resource("site.css"));
    writeText("site.js", resource("site.js"));
    for (String library : LIBRARIES) {
      copyLibrary(library);
    }
  }

  private List<String> pages() throws IOException {
    try (Stream<Path> beside = Files.list(top);
        Stream<Path> below = Files.walk(top.resolve("docs"))) {
      return Stream.concat(beside, below)
          .map(this::name)
          .filter(name -> name.endsWith(".md"))
          .sorted()
          .toList();
    }
  }

  private String name(Path file) {
    return top.relativize(file).toString().replace('\\', '/');
  }

  private static String address(String page) {
    if (page.equals("README.md")) {
      return "index.html";
    }
    return page.endsWith(".md") ? page.replaceFirst("\\.md$", ".html") : page + ".html";
  }

  /** Begins a section at each heading. */
  private void indexSections(String page, Node document) {
    String pageTitle = title(document);
    String heading = pageTitle;
    String anchor = "";
    StringBuilder text = new StringBuilder();
    List<String> ids = headingIds(document);
    int headings = 0;
    for (Node block = document.getFirstChild(); block != null; block = block.getNext()) {
      if (block instanceof Heading title) {
        addSection(pageTitle, heading, address(page) + anchor, text);
        heading = TEXT.render(block);
        String id = ids.get(headings++);
        anchor = title.getLevel() == 1 ? "" : "#" + id;
      } else if (!isDiagram(block)) {
        text.append(TEXT.render(block)).append(' ');
      }
    }
    addSection(pageTitle, heading, address(page) + anchor, text);
  }

  private void addSection(String page, String title, String address, StringBuilder text) {
    if (!text.isEmpty()) {
      sections.add(new Section(page, title, address, text.toString().strip()));
      text.setLength(0);
    }
  }

  /** Returns the ids that the renderer gives to the headings at the top level, in their order. */
  private static List<String> headingIds(Node document) {
    List<String> ids = new ArrayList<>();
    HtmlRenderer.builder()
        .extensions(EXTENSIONS)
        .attributeProviderFactory(
            context ->
                (node, tag, attributes) -> {
                  if (node instanceof Heading && node.getParent() == document) {
                    ids.add(attributes.getOrDefault("id", ""));
                  }
                })
        .build()
        .render(document);
    return ids;
  }

  private void redirectLinks(String page, Node document) {
    document.accept(
        new AbstractVisitor() {
          @Override
          public void visit(Link link) {
            link.setDestination(redirected(page, link.getDestination()));
            visitChildren(link);
          }

          @Override
          public void visit(Image image) {
            linkedFiles.add(resolve(page, image.getDestination()));
          }
        });
  }

  private String redirected(String page, String link) {
    if (link.startsWith("#") || link.contains("://")) {
      return link;
    }
    String[] parts = link.split("#", 2);
    String linked = resolve(page, parts[0]);
    if (Files.isDirectory(top.resolve(linked))) {
      return "https://interlock.dev/source/" + linked;
    }
    if (!linked.endsWith(".md")) {
      linkedFiles.add(linked);
    }
    return toTop(page) + address(linked) + (parts.length == 2 ? "#" + parts[1] : "");
  }

  private String resolve(String page, String link) {
    return name(top.resolve(page).resolveSibling(link).normalize());
  }

  private static String toTop(String page) {
    return "../".repeat((int) page.chars().filter(c -> c == '/').count());
  }

  private void writeFile(String file) throws IOException {
    if (file.endsWith(".png")) {
      Files.createDirectories(target.resolve(file).getParent());
      Files.copy(top.resolve(file), target.resolve(file), StandardCopyOption.REPLACE_EXISTING);
    } else {
      String text = escaped(Files.readString(top.resolve(file)));
      writePage(file, file, "<h1>" + escaped(file) + "</h1><pre><code>" + text + "</code></pre>");
    }
  }

  private void writePage(String page, String title, String content) throws IOException {
    writeText(
        address(page),
        template
            .replace("${title}", escaped(title))
            .replace("${top}", toTop(page))
            .replace("${menu}", menu(page))
            .replace("${content}", content));
  }

  /** Returns the menu, with the links as they have to be on a page. */
  private String menu(String page) throws IOException {
    Node document = PARSER.parse(Files.readString(top.resolve(MENU)));
    document.getFirstChild().unlink(); // its title
    document.accept(
        new AbstractVisitor() {
          @Override
          public void visit(Link link) {
            link.setDestination(toTop(page) + address(resolve(MENU, link.getDestination())));
          }
        });
    return HtmlRenderer.builder().build().render(document);
  }

  private static String title(Node document) {
    for (Node block = document.getFirstChild(); block != null; block = block.getNext()) {
      if (block instanceof Heading) {
        return TEXT.render(block);
      }
    }
    throw new IllegalArgumentException("a page needs a heading");
  }

  private static boolean isDiagram(Node block) {
    return block instanceof FencedCodeBlock code && code.getInfo().equals("mermaid");
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }

  private void writeText(String address, String text) throws IOException {
    Path file = target.resolve(address);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  private static String resource(String name) throws IOException {
    return new String(bytes(name), UTF_8);
  }

  private void copyLibrary(String library) throws IOException {
    String file = library.substring(library.lastIndexOf('/') + 1);
    Files.write(target.resolve(file), bytes("/META-INF/resources/webjars/" + library));
  }

  private static byte[] bytes(String resource) throws IOException {
    try (InputStream stream = Site.class.getResourceAsStream(resource)) {
      return requireNonNull(stream, resource).readAllBytes();
    }
  }

  /** Renders diagrams as the text from which the browser draws them. */
  private record Diagrams(HtmlNodeRendererContext context) implements NodeRenderer {
    @Override
    public Set<Class<? extends Node>> getNodeTypes() {
      return Set.of(FencedCodeBlock.class);
    }

    @Override
    public void render(Node node) {
      FencedCodeBlock block = (FencedCodeBlock) node;
      var html = context.getWriter();
      html.line();
      html.tag("pre", isDiagram(block) ? Map.of("class", "mermaid") : Map.of());
      if (isDiagram(block)) {
        html.text(block.getLiteral());
      } else {
        html.tag("code");
        html.text(block.getLiteral());
        html.tag("/code");
      }
      html.tag("/pre");
      html.line();
    }
  }
}
