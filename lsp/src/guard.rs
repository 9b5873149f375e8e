//! A wrapper around the service: a panic in one request becomes an error response to that request alone, and
//! every request gets a response.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use serde_json::Value;
use tower_lsp_server::jsonrpc::{Error, ErrorCode, Id, Request, Response};
use tower_service::Service;

use crate::frames::UNREADABLE;

type Answer<E> = Pin<Box<dyn Future<Output = Result<Option<Response>, E>> + Send>>;

/// A service whose requests may panic.
pub struct PanicGuard<S> {
    inner: S,
    shut_down: Arc<AtomicBool>,
}

impl<S> PanicGuard<S> {
    /// Guards a service. Sets `shut_down` when the client sends the request `shutdown`.
    pub fn new(inner: S, shut_down: Arc<AtomicBool>) -> Self {
        PanicGuard { inner, shut_down }
    }
}

impl<S> Service<Request> for PanicGuard<S>
where
    S: Service<Request, Response = Option<Response>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Option<Response>;
    type Error = S::Error;
    type Future = Answer<S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.method() == UNREADABLE {
            let error = unreadable(request.params());
            return Box::pin(async { Ok(Some(Response::from_error(Id::Null, error))) });
        }
        // The protocol reserves this prefix for notifications. The framework drops unknown methods with it,
        // requests too, so requests get their error response here.
        if request.method().starts_with("$/") && request.id().is_some() {
            let answer = unknown_method(request.id().cloned(), request.method());
            return Box::pin(async { Ok(answer) });
        }
        if request.method() == "shutdown" {
            self.shut_down.store(true, Ordering::Relaxed);
        }
        let id = request.id().cloned();
        let method = request.method().to_owned();
        match catch_unwind(AssertUnwindSafe(|| self.inner.call(request))) {
            Ok(answer) => Box::pin(Guarded { answer: Box::pin(answer), id, method }),
            Err(_) => {
                let answer = internal_error(id, &method);
                Box::pin(async { Ok(answer) })
            }
        }
    }
}

struct Guarded<F> {
    answer: Pin<Box<F>>,
    id: Option<Id>,
    method: String,
}

impl<F, E> Future for Guarded<F>
where
    F: Future<Output = Result<Option<Response>, E>>,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.answer.as_mut().poll(context))) {
            Ok(state) => state,
            Err(_) => Poll::Ready(Ok(internal_error(self.id.clone(), &self.method))),
        }
    }
}

/// The error response to a request that panicked; `None` for notifications.
fn internal_error(id: Option<Id>, method: &str) -> Option<Response> {
    let mut error = Error::internal_error();
    error.message = format!("internal error in {method}; please report this bug").into();
    Some(Response::from_error(id?, error))
}

/// The error response to a request with an unknown method; `None` for notifications.
fn unknown_method(id: Option<Id>, method: &str) -> Option<Response> {
    let error = Error { data: Some(method.into()), ..Error::method_not_found() };
    Some(Response::from_error(id?, error))
}

fn unreadable(params: Option<&Value>) -> Error {
    let part = |key| params.and_then(|params| params.get(key));
    let mut error =
        Error::new(part("code").and_then(Value::as_i64).map_or(ErrorCode::ParseError, ErrorCode::from));
    if let Some(message) = part("message").and_then(Value::as_str) {
        error.message = message.to_owned().into();
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Panics;

    impl Service<Request> for Panics {
        type Response = Option<Response>;
        type Error = std::convert::Infallible;
        type Future = Answer<Self::Error>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: Request) -> Self::Future {
            if request.method() == "$/unknown" {
                return Box::pin(async { Ok(None) });
            }
            assert!(request.method() != "at once", "at once");
            Box::pin(async { panic!("later") })
        }
    }

    fn ask(method: &'static str, id: Option<i64>) -> Option<Response> {
        let request = Request::build(method);
        let request = id.map_or(Request::build(method), |id| request.id(id)).finish();
        let mut guard = PanicGuard::new(Panics, Arc::default());
        let mut answer = guard.call(request);
        let mut context = Context::from_waker(std::task::Waker::noop());
        match answer.as_mut().poll(&mut context) {
            Poll::Ready(Ok(answer)) => answer,
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_panic_is_an_error_of_its_request() {
        for method in ["at once", "later"] {
            let answer = ask(method, Some(7)).and_then(|answer| answer.error().cloned());
            assert_eq!(answer.map(|error| error.code), Some(ErrorCode::InternalError));
            assert_eq!(ask(method, None), None);
        }
    }

    #[test]
    fn requests_with_a_prefix_of_notifications_get_an_error() {
        let answer = ask("$/unknown", Some(7)).and_then(|answer| answer.error().cloned());
        assert_eq!(answer.map(|error| error.code), Some(ErrorCode::MethodNotFound));
        assert_eq!(ask("$/unknown", None), None);
    }
}
