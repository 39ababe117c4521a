package agent.cli.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Lists of every source and format, and answers without a limit. */
@Timeout(60)
class AnswerPrinterTest {
  private static final Terminal PIPE = new Terminal(0, false, false, InstantSource.system());

  /** An answer that begins with these texts, and then repeats an element without a limit. */
  private static final class LongestAnswer extends InputStream {
    private final byte[] start;
    private final byte[] element;
    private long at;

    LongestAnswer(String start, String element) {
      this.start = start.getBytes(StandardCharsets.US_ASCII);
      this.element = element.getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public int read() {
      final long i = at++;
      return i < start.length
          ? start[(int) i]
          : element[(int) ((i - start.length) % element.length)];
    }
  }

  /** Counts how often what was printed is sent. */
  private static final class CountedFlushes extends OutputStream {
    private int flushes;

    @Override
    public void write(int b) {
      // only flushes are of interest
    }

    @Override
    public void flush() {
      flushes++;
    }
  }

  private static Listing listing() {
    return new Listing("cache").column("KEY", "key").column("VALUE", "value");
  }

  private static InputStream json(String text) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
  }

  private static Object tree(String text) {
    return AnswerPrinter.tree(json(text));
  }

  private interface Use {
    void with(AnswerPrinter printer) throws IOException;
  }

  private static String printed(String format, Use use) throws IOException {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(bytes, false, StandardCharsets.UTF_8)) {
      use.with(new AnswerPrinter(out, PIPE, OutputFormat.of(format)));
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }

  /** Prints to a device that is always full, which is seen when something is flushed. */
  private static void printToFullDisk(String format, Use use) throws IOException {
    try (PrintStream out = new PrintStream(new FileOutputStream("/dev/full"), false)) {
      use.with(new AnswerPrinter(out, PIPE, OutputFormat.of(format)));
      assertTrue(out.checkError());
    }
  }

  private static String startOfMap() {
    return "{\"cache\":[";
  }

  @ParameterizedTest
  @ValueSource(strings = {"table", "csv", "wide", "json", "yaml"})
  void shouldReadNoFurtherWhereTheOutputCannotBeWritten(String format) throws IOException {
    final String element = "{\"key\":\"k\",\"value\":\"v\"},";
    printToFullDisk(
        format, printer -> printer.list(new LongestAnswer(startOfMap(), element), listing()));
    printToFullDisk(
        format,
        printer ->
            printer.list(new LongestAnswer(startOfMap(), element), listing().where(entry -> true)));
    printToFullDisk(format, printer -> printer.list(AnswerPrinterTest::giveAll, listing()));
  }

  /** Passes elements while the predicate returns true. */
  private static void giveAll(Predicate<Object> to) {
    while (to.test(Map.of("key", "k", "value", "v"))) {
      continue;
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"json", "yaml"})
  void shouldCopyNoFurtherWhereTheOutputCannotBeWritten(String format) throws IOException {
    printToFullDisk(format, printer -> printer.document(new LongestAnswer("[", "1,")));
  }

  /** Whether it can be written is asked now and then, because that sends what is buffered. */
  @ParameterizedTest
  @ValueSource(strings = {"json", "yaml", "csv"})
  void shouldBufferWhatItPrints(String format) throws IOException {
    final String elements = "{\"key\":\"k\"},".repeat(25_000);
    final CountedFlushes counted = new CountedFlushes();
    try (PrintStream out = new PrintStream(counted, false)) {
      new AnswerPrinter(out, PIPE, OutputFormat.of(format))
          .list(json(startOfMap() + elements + "{}]}"), listing());
    }
    assertTrue(counted.flushes >= 2 && counted.flushes < 50, counted.flushes + " flushes");
  }

  @ParameterizedTest
  @ValueSource(strings = {"table", "csv", "json"})
  void shouldAskForNoMoreThanTheLimit(String format) throws IOException {
    final List<Object> given = new ArrayList<>();
    final String text =
        printed(
            format,
            printer ->
                printer.list(
                    to ->
                        giveAll(
                            element -> {
                              given.add(element);
                              return to.test(element);
                            }),
                    listing().limit(3)));
    assertEquals(3, given.size(), text);
    final String element = "{\"key\":\"k\",\"value\":\"v\"},";
    if (!format.equals("json")) { // which copies what follows the elements, too
      printed(
          format,
          printer -> printer.list(new LongestAnswer(startOfMap(), element), listing().limit(3)));
    }
  }

  @Test
  void shouldSortTheElementsOfEverySource() throws IOException {
    final String answer = "{\"cache\":[{\"key\":\"b\"},{\"key\":\"a\"},{\"key\":\"c\"}]}";
    final Comparator<Object> byKey = Comparator.comparing(element -> Tree.text(element, "key"));
    final String expected = "KEY,VALUE\na,\nb,\n";
    final Listing listing = listing().sortedBy(byKey).limit(2);
    assertEquals(expected, printed("csv", printer -> printer.list(json(answer), listing)));
    assertEquals(expected, printed("csv", printer -> printer.list(tree(answer), listing)));
    final AnswerPrinter.Source source =
        to -> Tree.list(tree(answer), "cache").forEach(element -> to.test(element));
    assertEquals(expected, printed("csv", printer -> printer.list(source, listing)));
    assertEquals(
        "KEY  VALUE\na    -\nb    -\n", printed("table", printer -> printer.list(source, listing)));
    assertEquals(
        "KEY  VALUE\na    -\nb    -\n",
        printed("table", printer -> printer.list(tree(answer), listing)));
    assertEquals("a b", printed("jsonpath={[*].key}", printer -> printer.list(source, listing)));
    assertEquals("- key: a\n- key: b\n", printed("yaml", printer -> printer.list(source, listing)));
  }

  @Test
  void shouldTakeTheElementsFromTheirMemberAlone() throws IOException {
    final String answer =
        """
        {"cache-size":[{"key":"x"}],"inner":{"cache":[{"key":"y"}]},
         "cache":[{"key":"a","cache":[{"key":"z"}]}],"more":[[{"key":"x"}]]}
        """;
    assertEquals(
        "KEY,VALUE\na,\n", printed("csv", printer -> printer.list(json(answer), listing())));
    final Listing whole = new Listing("").column("KEY", "key");
    assertEquals("KEY\n", printed("csv", printer -> printer.list(json(answer), whole)));
    assertEquals(
        "KEY\na\n", printed("csv", printer -> printer.list(json("[{\"key\":\"a\"}]"), whole)));
  }
}
