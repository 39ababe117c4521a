package agent.datapath.manager.mutation;

import agent.datapath.manager.mutation.MutationProcess.Answer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;

/** Several processes that share the work. */
final class MutationProcesses implements AutoCloseable {
  /** What a process does with one item. */
  @FunctionalInterface
  interface Work<T> {
    /** Does it. */
    Answer apply(MutationProcess process, T item) throws IOException, InterruptedException;
  }

  private final List<MutationProcess> processes = new ArrayList<>();
  private final BlockingQueue<MutationProcess> free = new LinkedBlockingQueue<>();

  MutationProcesses(int count, Path scratch, List<String> properties) throws IOException {
    for (int i = 0; i < count; i++) {
      processes.add(new MutationProcess(scratch.resolve("process-" + i), properties));
    }
    free.addAll(processes);
  }

  /** Returns the answers in the order of the items. */
  <T> List<Answer> all(List<T> items, Work<T> work) throws IOException, InterruptedException {
    final List<Answer> answers = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(processes.size())) {
      final List<Future<Answer>> begun =
          items.stream().map(item -> threads.submit(() -> one(item, work))).toList();
      for (final Future<Answer> answer : begun) {
        answers.add(answer.get());
      }
    } catch (ExecutionException failure) {
      throw new IOException(failure.getCause());
    }
    return answers;
  }

  private <T> Answer one(T item, Work<T> work) throws IOException, InterruptedException {
    final MutationProcess process = free.take();
    try {
      return work.apply(process, item);
    } finally {
      free.add(process);
    }
  }

  @Override
  public void close() throws IOException {
    for (final MutationProcess process : processes) {
      process.close();
    }
  }
}
