package agent.datapath.manager.mutation;

import agent.datapath.programs.compile.CompileException;
import agent.datapath.programs.compile.MutatedSources;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

/** Defines the classes of the tests, and gives them the objects of a changed source. */
final class MutatedLoader extends URLClassLoader {
  private final MutatedSources sources;
  private String refused;

  /** Loads from the class path of this process. */
  MutatedLoader(MutatedSources sources) {
    super(classPath(), ClassLoader.getPlatformClassLoader());
    this.sources = sources;
  }

  private static URL[] classPath() {
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(MutatedLoader::url)
        .toArray(URL[]::new);
  }

  private static URL url(String path) {
    try {
      return Path.of(path).toUri().toURL();
    } catch (MalformedURLException failure) {
      throw new IllegalArgumentException(path, failure);
    }
  }

  @Override
  public URL getResource(String name) {
    try {
      final Optional<Path> object = sources.object(name);
      return object.isPresent() ? object.get().toUri().toURL() : super.getResource(name);
    } catch (CompileException failure) {
      refused = failure.getMessage();
      throw failure;
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  /** Returns what the compiler said of the changed program that could not be compiled, once. */
  Optional<String> takeRefused() {
    final Optional<String> taken = Optional.ofNullable(refused);
    refused = null;
    return taken;
  }
}
