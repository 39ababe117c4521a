package agent.cli.call;

import agent.cli.grammar.UsageException;
import agent.cli.output.AnswerPrinter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import tools.jackson.core.JacksonException;

/** Files that a command reads. */
public final class RequestFile {
  private RequestFile() {}

  /** Returns the text of a file, or of standard input for a dash. */
  public static String text(Invocation call, String file) throws IOException {
    if (file.equals("-")) {
      return new String(call.in().readAllBytes(), StandardCharsets.UTF_8);
    }
    try {
      return Files.readString(Path.of(file));
    } catch (NoSuchFileException e) {
      throw new UsageException("file '" + file + "' does not exist");
    } catch (IOException e) {
      throw new UsageException("cannot read '" + file + "': " + e.getMessage());
    }
  }

  /** Returns the JSON value of a file. */
  public static Object json(Invocation call, String file) throws IOException {
    final String text = text(call, file);
    try {
      return AnswerPrinter.written(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    } catch (JacksonException e) {
      throw new UsageException("'" + file + "' is not JSON: " + e.getOriginalMessage());
    }
  }
}
