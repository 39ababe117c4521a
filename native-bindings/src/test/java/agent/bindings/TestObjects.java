package agent.bindings;

import agent.testkit.Commands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Compiles small BPF objects for tests. */
public final class TestObjects {
  private static final String HEADERS =
      """
      #include <linux/bpf.h>
      #include <linux/types.h>
      #include <bpf/bpf_helpers.h>
      char _license[] SEC("license") = "GPL";
      """;

  /** Returns the packet's length, or the constant in .rodata if it is not 0. */
  public static final String LENGTH_OR_CONSTANT =
      """
      const volatile struct { __u32 answer; } settings;
      SEC("tc") int length_or_constant(struct __sk_buff *skb)
      {
        return settings.answer ? settings.answer : skb->len;
      }
      """;

  private TestObjects() {}

  public static byte[] compile(String source) {
    try {
      final Path directory = Files.createTempDirectory("agent-bpf-");
      final Path code = Files.writeString(directory.resolve("test.bpf.c"), HEADERS + source);
      final Path object = directory.resolve("test.bpf.o");
      try {
        Commands.run(
            clang(),
            "-O2",
            "-g",
            "-Wall",
            "-Werror",
            "--target=bpf",
            "-idirafter",
            "/usr/include/"
                + System.getProperty("os.arch").replace("amd64", "x86_64")
                + "-linux-gnu",
            "-c",
            code.toString(),
            "-o",
            object.toString());
        return Files.readAllBytes(object);
      } finally {
        Files.deleteIfExists(object);
        Files.delete(code);
        Files.delete(directory);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String clang() {
    for (final String name : List.of("clang-19", "clang")) {
      for (final String folder : System.getenv("PATH").split(":")) {
        if (Files.isExecutable(Path.of(folder, name))) {
          return name;
        }
      }
    }
    throw new IllegalStateException("no clang on PATH");
  }
}
