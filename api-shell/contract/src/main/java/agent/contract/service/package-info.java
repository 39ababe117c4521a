/** Services. */
package agent.contract.service;
