package agent.datapath.manager.compile;

import agent.datapath.manager.spec.DatapathContext;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Copies of the shipped sources with one changed line each, compiled as at run time. */
public final class MutatedSources {
  private static final long SED_SEC = 30;

  /** A bug may leave a parameter unused. */
  private static final String NO_WARNINGS = "-w";

  private final Clang clang =
      Clang.find(new DatapathContext().clangCandidates())
          .orElseThrow(() -> new CompileException("no clang is installed"));
  private final Map<ProgramFile, Map<String, byte[]>> sources = new java.util.TreeMap<>();
  private final Path scratch;

  /** Reads the sources; the folder receives the changed files and the objects. */
  public MutatedSources(Path scratch) {
    this.scratch = scratch;
    for (final ProgramFile program : ProgramFile.values()) {
      sources.put(program, SourceTree.SHIPPED.of(program));
    }
  }

  /**
   * Changes one line of a file and compiles every program that contains it.
   *
   * @param file path under {@code bpf-src}
   * @param sed script of sed
   * @return the folder of the objects
   * @throws IllegalArgumentException where the script changes no line, more than one, or a file
   *     that no program contains
   * @throws CompileException where a changed program cannot be compiled
   */
  public Path compile(String name, String file, String sed) throws IOException {
    final Path folder = Files.createDirectories(scratch.resolve(name));
    final Path objects = Files.createDirectories(folder.resolve("objects"));
    final List<String> flags = new ArrayList<>(SourceTree.SHIPPED.flags());
    flags.add(NO_WARNINGS);
    byte[] changed = null;
    for (final ProgramFile program : ProgramFile.values()) {
      final byte[] original = sources.get(program).get(file);
      if (original != null) {
        if (changed == null) {
          changed = changed(folder, original, sed);
        }
        SourceTree.writeTo(folder, sources.get(program));
        Files.write(folder.resolve(file), changed);
        clang.compile(folder, program.source(), flags, objects.resolve(program.object()));
      }
    }
    if (changed == null) {
      throw new IllegalArgumentException("no program contains " + file);
    }
    return objects;
  }

  private static byte[] changed(Path folder, byte[] original, String sed) throws IOException {
    final Path source = folder.resolve("original");
    final Path output = folder.resolve("changed");
    Files.write(source, original);
    final Process process =
        new ProcessBuilder("sed", "-e", sed, source.toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      if (!process.waitFor(SED_SEC, TimeUnit.SECONDS) || process.exitValue() != 0) {
        throw new IllegalArgumentException("sed: " + Files.readString(output));
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IOException("sed was interrupted", interrupted);
    }
    final int lines = changedLines(Files.readAllLines(source), Files.readAllLines(output));
    if (lines != 1) {
      throw new IllegalArgumentException("the script changes " + lines + " lines instead of one");
    }
    return Files.readAllBytes(output);
  }

  /** Returns the number of lines between the first and the last changed line of the original. */
  private static int changedLines(List<String> before, List<String> after) {
    final int shorter = Math.min(before.size(), after.size());
    int same = 0;
    while (same < shorter && before.get(same).equals(after.get(same))) {
      same++;
    }
    int end = 0;
    while (end < shorter - same
        && before.get(before.size() - 1 - end).equals(after.get(after.size() - 1 - end))) {
      end++;
    }
    return before.size() - same - end;
  }
}
