package agent.service;

import static agent.service.ServiceForms.outside;

import agent.datapath.spec.ServiceProxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Changes services in the datapath, which has two for some. For any thread. */
final class ServiceEnforcement {
  private final ServiceProxy datapath;
  private final ServiceForms forms;

  ServiceEnforcement(ServiceProxy datapath, ServiceForms forms) {
    this.datapath = datapath;
    this.forms = forms;
  }

  /** Computes what the datapath is to have of a service; takes long where it has many backends. */
  List<ServiceProxy.Placed> place(Service service) {
    return forms.entriesOf(service).stream().map(datapath::place).toList();
  }

  /**
   * Puts a service in the place of another or of none; where that fails, all is as it was.
   *
   * @param wanted the service, placed
   * @param before null for none
   */
  CompletableFuture<Void> put(List<ServiceProxy.Placed> wanted, Service before, Service service) {
    final CompletableFuture<Void> first = datapath.put(wanted.getFirst());
    if (wanted.size() > 1) {
      return first.thenCompose(
          done ->
              datapath
                  .put(wanted.getLast())
                  .exceptionallyCompose(failure -> takeBackFirst(before, service, failure)));
    }
    return before != null && forms.hasOthersOutside(before)
        ? first.thenCompose(done -> datapath.remove(outside(service.id())))
        : first;
  }

  private CompletableFuture<Void> takeBackFirst(Service before, Service service, Throwable why) {
    return (before == null
            ? datapath.remove(service.id())
            : datapath.put(forms.entriesOf(before).getFirst()))
        .thenCompose(done -> CompletableFuture.failedFuture(why));
  }

  /** Removes a service. */
  CompletableFuture<Void> remove(Service service) {
    return forms.hasOthersOutside(service)
        ? removeAll(service.id())
        : datapath.remove(service.id());
  }

  /** Removes a service of which only the number is known. */
  CompletableFuture<Void> removeAll(int id) {
    return datapath.remove(outside(id)).thenCompose(done -> datapath.remove(id));
  }
}
