package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.launcher.options.OptionException;
import agent.types.Leftover;
import agent.types.OperationException;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What is asked, removed and printed; what is found needs a node (AgentCleanupKernelTest). */
class CleanupCommandTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream errors = new ByteArrayOutputStream();
  private final List<String> removed = new ArrayList<>();
  private final List<Leftover> two = List.of(leftover("route a"), leftover("map b"));

  private CleanupCommand command(InputStream answers) {
    return new CleanupCommand(
        new PrintStream(out, true, StandardCharsets.UTF_8),
        new PrintStream(errors, true, StandardCharsets.UTF_8),
        answers);
  }

  private CleanupCommand answered(String answer) {
    return command(new ByteArrayInputStream(answer.getBytes(StandardCharsets.UTF_8)));
  }

  private Leftover leftover(String text) {
    return new Leftover(text, () -> removed.add(text));
  }

  private static Leftover failing(String text, Exception failure) {
    return new Leftover(
        text,
        () -> {
          if (failure instanceof IOException io) {
            throw io;
          }
          throw (RuntimeException) failure;
        });
  }

  private String out() {
    return out.toString(StandardCharsets.UTF_8);
  }

  private String errors() {
    return errors.toString(StandardCharsets.UTF_8);
  }

  @Test
  void shouldExplainItself() throws InterruptedException {
    assertEquals(0, answered("").run(List.of("--help"), Map.of()));
    assertTrue(out().startsWith("Usage: agent cleanup [--dry-run] [--force]"), out());
    assertEquals("", errors());
  }

  @Test
  void shouldTakeTheOptionsOfTheAgentBesideItsOwn() throws InterruptedException {
    final List<String> own = List.of("--force", "--dry-run", "--state-dir=/x", "--help", "--force");
    assertEquals(0, answered("").run(own, Map.of()));
    assertEquals(
        "--colour: unknown option",
        assertThrows(OptionException.class, () -> answered("").run(List.of("--colour=x"), Map.of()))
            .getMessage());
  }

  @Test
  void shouldSayThatNothingIsLeft() {
    assertEquals(0, answered("y\n").clean(List.of(), true, false));
    assertEquals("nothing to remove: no agent has left anything on this node\n", out());
  }

  @Test
  void shouldOnlyListWhereItRunsDry() {
    assertEquals(0, answered("y\n").clean(two, true, true));
    assertEquals("route a\nmap b\n2 items would be removed\n", out());
    assertEquals(List.of(), removed);
  }

  @Test
  void shouldRemoveWithoutAQuestionWhereItIsForced() {
    assertEquals(0, answered("n\n").clean(two, true, false));
    assertEquals("route a\nmap b\n2 removed\n", out());
    assertEquals(List.of("route a", "map b"), removed);
    assertEquals("", errors());
  }

  @Test
  void shouldRemoveOnlyAfterAYes() {
    for (final String yes : List.of("y\n", "Y", " yes \n", "YES\nn\n")) {
      removed.clear();
      assertEquals(0, answered(yes).clean(two, false, false), yes);
      assertEquals(2, removed.size(), yes);
    }
    assertTrue(
        out()
            .contains("Remove these 2 items? Workloads lose their connectivity. [y/N] 2 removed\n"),
        out());
    removed.clear();
    for (final String no : List.of("", "\n", "n\n", "yesterday\n", "no\ny\n")) {
      assertEquals(1, answered(no).clean(two, false, false), no);
    }
    assertEquals(List.of(), removed);
    assertEquals("agent: not confirmed, nothing was removed\n".repeat(5), errors());
  }

  /** Standard output may be kept in memory until it has a whole line. */
  @Test
  void shouldShowTheQuestionBeforeItReadsTheAnswer() {
    final InputStream asked =
        new InputStream() {
          @Override
          public int read() {
            assertTrue(out().endsWith("[y/N] "), out());
            return -1;
          }
        };
    final PrintStream late = new PrintStream(new BufferedOutputStream(out), false);
    assertEquals(
        1, new CleanupCommand(late, new PrintStream(errors), asked).clean(two, false, false));
  }

  @Test
  void shouldTakeAnAnswerThatCannotBeReadForANo() {
    final InputStream unreadable =
        new InputStream() {
          @Override
          public int read() throws IOException {
            throw new IOException("EIO");
          }
        };
    assertEquals(1, command(unreadable).clean(two, false, false));
    assertEquals(List.of(), removed);
  }

  @Test
  void shouldGoOnAfterWhatCannotBeRemovedAndFail() {
    final List<Leftover> found =
        List.of(
            failing("file x", new AccessDeniedException("x")),
            failing("map y", new OperationException("unpin: EPERM")),
            leftover("route a"));
    assertEquals(1, answered("").clean(found, true, false));
    assertTrue(out().endsWith("1 removed\n"), out());
    final List<String> printed = errors().lines().toList();
    assertEquals(2, printed.size(), errors());
    assertTrue(printed.getFirst().startsWith("agent: file x: "), errors());
    assertEquals("agent: map y: unpin: EPERM", printed.getLast());
  }

  @Test
  void shouldFailWhereOneItemCannotBeRemoved() {
    for (final Exception failure :
        List.of(new AccessDeniedException("x"), new OperationException("unpin: EPERM"))) {
      final List<Leftover> found = List.of(failing("map y", failure), leftover("route a"));
      assertEquals(1, answered("").clean(found, true, false), failure.toString());
    }
  }

  /** A folder with files of others is to stay. */
  @Test
  void shouldSucceedThoughAFolderStaysForOthers() {
    final List<Leftover> found =
        List.of(leftover("route a"), failing("folder z", new DirectoryNotEmptyException("z")));
    assertEquals(0, answered("").clean(found, true, false));
    assertEquals("agent: folder z kept: it contains files of other programs\n", errors());
    assertTrue(out().endsWith("1 removed\n"), out());
  }
}
