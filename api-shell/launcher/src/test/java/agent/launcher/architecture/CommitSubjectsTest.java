package agent.launcher.architecture;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Subjects of commits fit into one line of the tools that list them. */
class CommitSubjectsTest {
  private static final int LONGEST = 72;

  /** Commits that are older than the rule are not held to it. */
  private static final String SINCE = "2026-11-29T12:52:51Z";

  @Test
  void shouldKeepSubjectsShort() throws Exception {
    assertEquals(List.of(), tooLong(commits()));
  }

  @Test
  void shouldFindALongSubject() {
    final String longest = "0123abc " + "a".repeat(LONGEST);
    assertEquals(List.of(longest + "a"), tooLong(List.of(longest, longest + "a", "0123abc ")));
  }

  private static List<String> tooLong(List<String> commits) {
    return commits.stream()
        .filter(commit -> commit.length() - (commit.indexOf(' ') + 1) > LONGEST)
        .toList();
  }

  /** Returns hashes with subjects; none in a source archive, or where git is missing or fails. */
  private static List<String> commits() throws InterruptedException {
    if (!Files.exists(ProjectFiles.ROOT.resolve(".git"))) {
      return List.of();
    }
    try {
      final Process git =
          new ProcessBuilder("git", "log", "--since=" + SINCE, "--format=%h %s")
              .directory(ProjectFiles.ROOT.toFile())
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      final byte[] output = git.getInputStream().readAllBytes();
      return git.waitFor() == 0
          ? new String(output, StandardCharsets.UTF_8).lines().toList()
          : List.of();
    } catch (IOException withoutGit) {
      return List.of();
    }
  }
}
