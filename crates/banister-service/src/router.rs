//! The router of all routes, each behind the middleware.

use axum::Router;
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;

use crate::app::App;
use crate::middleware::middleware;
use crate::problem::Problem;
use crate::routes::{NOWHERE, ROUTES, Route};

pub fn router(app: &App) -> Router {
    let layer = |route: &'static Route| from_fn_with_state((app.clone(), route), middleware);
    let mut router = Router::new();
    for route in ROUTES {
        let methods = (route.handler)().route_layer(layer(route));
        router = router.route(route.path, methods);
    }
    let nothing = || async { Problem::new(StatusCode::NOT_FOUND, "there is nothing at this path") };
    let other = || async {
        Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this path knows other methods",
        )
    };
    router
        .method_not_allowed_fallback(other.layer(layer(&NOWHERE)))
        .fallback(nothing.layer(layer(&NOWHERE)))
        .with_state(app.clone())
}
