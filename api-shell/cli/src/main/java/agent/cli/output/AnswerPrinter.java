package agent.cli.output;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.exc.StreamReadException;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.json.JsonFactoryBuilder;

/** Prints answers of the agent in the format that was asked for, as they come. */
public final class AnswerPrinter {
  private static final int MOST_DIGITS = 64;
  private static final int CHECKED_EACH = 1000;

  private final PrintStream out;
  private final Terminal terminal;
  private final OutputFormat format;
  private long written;

  /** Creates a printer. */
  public AnswerPrinter(PrintStream out, Terminal terminal, OutputFormat format) {
    this.out = out;
    this.terminal = terminal;
    this.format = format;
  }

  /** Begins rows in the format of the tables. */
  public Rows rows(String... headings) {
    return switch (format.kind()) {
      case CSV -> new CsvRows(out, headings);
      case WIDE -> new Table(out, terminal.unlimited(), headings);
      default -> new Table(out, terminal, headings);
    };
  }

  private static JsonParser parser(InputStream json) {
    return builder().build().createParser(ObjectReadContext.empty(), json);
  }

  private static JsonFactoryBuilder builder() {
    return JsonFactory.builder()
        .streamReadConstraints(
            StreamReadConstraints.builder()
                .maxNumberLength(MOST_DIGITS)
                .maxStringLength(Integer.MAX_VALUE)
                .build());
  }

  /** Reads one document that a person wrote: names may not repeat, and nothing may follow. */
  public static Object written(InputStream json) {
    try (JsonParser parser =
        builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build()
            .createParser(ObjectReadContext.empty(), json)) {
      parser.nextToken();
      final Object value = Tree.read(parser);
      if (parser.nextToken() != null) {
        throw new StreamReadException(parser, "unexpected text after the document");
      }
      return value;
    }
  }

  /** Reads an answer into memory; an empty one is null. */
  public static Object tree(InputStream json) {
    try (JsonParser parser = parser(json)) {
      final Object value = parser.nextToken() == null ? null : Tree.read(parser);
      parser.nextToken();
      return value;
    }
  }

  /** Prints a document: JSON or YAML; other formats are those of tables. */
  public void document(InputStream json) throws IOException {
    if (format.kind() == OutputFormat.Kind.JSONPATH) {
      values(tree(json));
      return;
    }
    final TreeWriter writer = writer();
    copy(json, writer);
    writer.end();
  }

  /** Copies an answer to a writer. */
  public static void copy(InputStream json, TreeWriter writer) {
    try (JsonParser parser = parser(json)) {
      while (parser.nextToken() != null && !writer.isBroken()) {
        writer.token(parser);
      }
    }
  }

  /** Prints a value of {@link Tree} as a document. */
  public void document(Object tree) throws IOException {
    if (format.kind() == OutputFormat.Kind.JSONPATH) {
      values(tree);
      return;
    }
    final TreeWriter writer = writer();
    writer.value(tree);
    writer.end();
  }

  private void values(Object tree) throws IOException {
    if (!format.template().print(tree, out)) {
      throw new IOException("the answer contains nothing at the path");
    }
  }

  /** Asks now and then only, because that flushes. */
  private boolean isBroken() {
    return ++written % CHECKED_EACH == 0 && out.checkError();
  }

  private TreeWriter writer() {
    return format.kind() == OutputFormat.Kind.YAML
        ? new YamlTreeWriter(out)
        : new JsonTreeWriter(out);
  }

  /** Prints the elements of an answer. */
  public void list(InputStream json, Listing listing) throws IOException {
    if (!format.isDocument()) {
      final Rows rows = rows(listing.headings());
      elements(json, listing, element -> rows.row(listing.cells(element)));
      rows.end();
    } else if (listing.isPlain()) {
      document(json);
    } else if (format.kind() == OutputFormat.Kind.JSONPATH || listing.order() != null) {
      document(selected(tree(json), listing));
    } else {
      copySelected(json, listing);
    }
  }

  /** Prints the elements of an answer that was read. */
  public void list(Object answer, Listing listing) throws IOException {
    if (format.isDocument()) {
      document(selected(answer, listing));
      return;
    }
    final Rows rows = rows(listing.headings());
    final Selection selection = new Selection(listing, element -> rows.row(listing.cells(element)));
    elementsOf(answer, listing).forEach(selection::accept);
    selection.end();
    rows.end();
  }

  /** Passes the elements of a list one by one, until the predicate wants no more. */
  @FunctionalInterface
  public interface Source {
    /** Passes each element. */
    void forEach(Predicate<Object> to) throws IOException;
  }

  /** Prints the elements of a source; a document of them is an array. */
  public void list(Source source, Listing listing) throws IOException {
    if (format.kind() == OutputFormat.Kind.JSONPATH) {
      final List<Object> kept = new ArrayList<>();
      pass(source, new Selection(listing, kept::add));
      document(kept);
    } else if (format.isDocument()) {
      final TreeWriter writer = writer();
      writer.startArray();
      pass(source, new Selection(listing, writer::value));
      writer.endArray();
      writer.end();
    } else {
      final Rows rows = rows(listing.headings());
      pass(source, new Selection(listing, element -> rows.row(listing.cells(element))));
      rows.end();
    }
  }

  private void pass(Source source, Selection selection) throws IOException {
    source.forEach(
        element -> {
          selection.accept(element);
          return selection.wantsMore() && !isBroken();
        });
    selection.end();
  }

  private void elements(InputStream json, Listing listing, Consumer<Object> to) {
    final Selection selection = new Selection(listing, to);
    elements(
        json,
        listing.member(),
        element -> {
          selection.accept(element);
          return selection.wantsMore() && !isBroken();
        });
    selection.end();
  }

  /**
   * Passes the elements of an answer one by one.
   *
   * @param member the member that is the array; empty where the answer is the array
   * @param to returns false where it wants no more
   */
  public static void elements(InputStream json, String member, Predicate<Object> to) {
    try (JsonParser parser = parser(json)) {
      while (parser.nextToken() != null) {
        if (isElements(parser, member)) {
          while (parser.nextToken() != JsonToken.END_ARRAY) {
            if (!to.test(Tree.read(parser))) {
              return;
            }
          }
        }
      }
    }
  }

  /** Whether the parser stands at the start of the array. */
  private static boolean isElements(JsonParser parser, String member) {
    if (!parser.hasToken(JsonToken.START_ARRAY)) {
      return false;
    }
    final var outer = parser.streamReadContext().getParent();
    return member.isEmpty()
        ? outer.inRoot()
        : outer.inObject() && outer.getParent().inRoot() && member.equals(outer.currentName());
  }

  /** Copies the answer without the elements that are not wanted. */
  private void copySelected(InputStream json, Listing listing) {
    final TreeWriter writer = writer();
    final Selection selection = new Selection(listing, writer::value);
    try (JsonParser parser = parser(json)) {
      while (parser.nextToken() != null && !isBroken()) {
        writer.token(parser);
        if (isElements(parser, listing.member())) {
          while (parser.nextToken() != JsonToken.END_ARRAY && !isBroken()) {
            selection.accept(Tree.read(parser));
          }
          writer.endArray();
        }
      }
    }
    writer.end();
  }

  private static Object selected(Object answer, Listing listing) {
    final List<Object> kept = new ArrayList<>();
    final Selection selection = new Selection(listing, kept::add);
    elementsOf(answer, listing).forEach(selection::accept);
    selection.end();
    if (listing.member().isEmpty()) {
      return kept;
    }
    final Map<String, Object> members = new LinkedHashMap<>(Tree.members(answer));
    members.put(listing.member(), kept);
    return members;
  }

  private static List<?> elementsOf(Object answer, Listing listing) {
    return listing.member().isEmpty() ? Tree.list(answer) : Tree.list(answer, listing.member());
  }

  /** Filters, sorts and counts the elements. */
  private static final class Selection {
    private final Listing listing;
    private final Consumer<Object> to;
    private final List<Object> held = new ArrayList<>();
    private long passed;

    Selection(Listing listing, Consumer<Object> to) {
      this.listing = listing;
      this.to = to;
    }

    boolean wantsMore() {
      return passed < listing.limit();
    }

    void accept(Object element) {
      if (!listing.isWanted(element)) {
        return;
      }
      if (listing.order() != null) {
        held.add(element);
      } else if (wantsMore()) {
        passed++;
        to.accept(element);
      }
    }

    void end() {
      if (listing.order() != null) {
        held.stream().sorted(listing.order()).limit(listing.limit()).forEach(to);
      }
    }
  }
}
