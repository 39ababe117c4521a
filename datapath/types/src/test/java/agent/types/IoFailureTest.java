package agent.types;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class IoFailureTest {
  private static final String FILE = "/var/run/agent/x.json";

  static Stream<Arguments> failures() {
    return Stream.of(
        Arguments.of(new NoSuchFileException(FILE), "it does not exist"),
        Arguments.of(new AccessDeniedException(FILE), "permission denied"),
        Arguments.of(new NotDirectoryException(FILE), "not a directory"),
        Arguments.of(new FileAlreadyExistsException(FILE), "a file is in its place"),
        Arguments.of(new DirectoryNotEmptyException(FILE), "the directory is not empty"),
        Arguments.of(
            new FileSystemException(FILE, null, "No space left on device"),
            "no space left on device"),
        Arguments.of(new FileSystemException(null, null, ""), ""),
        Arguments.of(new MalformedInputException(1), "it is not UTF-8 text"),
        Arguments.of(new IOException("Broken pipe"), "broken pipe"),
        Arguments.of(new IOException(), "input or output failed"));
  }

  @ParameterizedTest
  @MethodSource("failures")
  void shouldSayWhyAnOperationFailedWithoutClassNames(IOException failure, String reason) {
    assertEquals(reason, IoFailure.reason(failure));
  }

  @Test
  void shouldNameTheFileWhereItIsKnown() {
    assertEquals(FILE + ": permission denied", IoFailure.sentence(new AccessDeniedException(FILE)));
    assertEquals(
        "read-only file system",
        IoFailure.sentence(new FileSystemException(null, null, "Read-only file system")));
    assertEquals("broken pipe", IoFailure.sentence(new IOException("Broken pipe")));
  }
}
