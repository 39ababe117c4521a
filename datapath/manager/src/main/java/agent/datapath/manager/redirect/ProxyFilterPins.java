package agent.datapath.manager.redirect;

import agent.bindings.bpf.BpfObject;
import agent.datapath.programs.attach.Pins;
import agent.datapath.programs.compile.ProgramFile;
import agent.datapath.spec.NodeRedirects;
import agent.types.OperationException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/** Loads the filters of the sockets of proxies, and pins them where their process opens them. */
final class ProxyFilterPins {
  private static final String TCP = "proxy_tcp";
  private static final String UDP = "proxy_udp";
  private static final long LOAD_SEC = 60;

  private final Pins pins;
  private final Function<ProgramFile, CompletableFuture<BpfObject>> loader;

  ProxyFilterPins(Pins pins, Function<ProgramFile, CompletableFuture<BpfObject>> loader) {
    this.pins = pins;
    this.loader = loader;
  }

  /**
   * Loads and pins them, in the place of those of a former run; waits for the loader.
   *
   * @throws OperationException where the kernel refuses them
   */
  synchronized NodeRedirects.Filters load() {
    final NodeRedirects.Filters filters =
        new NodeRedirects.Filters(pins.proxy(TCP), pins.proxy(UDP));
    try (BpfObject object =
        loader.apply(ProgramFile.PROXY_FILTER).get(LOAD_SEC, TimeUnit.SECONDS)) {
      put(object, TCP, filters.tcp());
      put(object, UDP, filters.udp());
      return filters;
    } catch (ExecutionException e) {
      throw new OperationException(
          "filters of the proxies' sockets: " + e.getCause().getMessage(), e.getCause());
    } catch (TimeoutException e) {
      throw new OperationException("filters of the proxies' sockets: the loader is busy", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new OperationException("the agent is stopping", e);
    }
  }

  private static void put(BpfObject object, String program, Path pin) {
    Pins.put(object.program(program).fd(), pin);
  }
}
