package agent.state;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** A state directory that a release wrote, with every field both set and absent. */
final class ReleaseFiles {
  private final Path directory;
  private final List<String> names;

  private ReleaseFiles(Path directory, List<String> names) {
    this.directory = directory;
    this.names = names;
  }

  static ReleaseFiles of(String release) throws IOException {
    try {
      final Path directory = Path.of(ReleaseFiles.class.getResource("release-" + release).toURI());
      try (Stream<Path> files = Files.walk(directory)) {
        return new ReleaseFiles(
            directory,
            files
                .filter(Files::isRegularFile)
                .map(file -> directory.relativize(file).toString())
                .sorted()
                .toList());
      }
    } catch (URISyntaxException e) {
      throw new IOException(e);
    }
  }

  /** Returns the paths below the state directory. */
  List<String> names() {
    return names;
  }

  byte[] read(String name) throws IOException {
    return Files.readAllBytes(directory.resolve(name));
  }

  void copyTo(Path target) throws IOException {
    for (final String name : names) {
      Files.createDirectories(target.resolve(name).getParent());
      Files.copy(directory.resolve(name), target.resolve(name));
    }
  }
}
